// Sort of bucketed keys by rank, buckets dealt in turn
//
// Every block gets buckets from the middle and from the ends, as many of each as the others.
//
// /// kernelprof
// kernel = "sort_buckets"
// block = [512]
// grid = [132]
// reference = "reference:sorted_keys"
// min_bytes = "8 * N"
//
// [sizes]
// N = 1048576
// BUCKETS = 2112
//
// [check]
// sizes = { N = 32768, BUCKETS = 264 }
//
// [[arguments]]
// name = "keys"
// type = "float32"
// shape = ["N"]
// fill = "reference:keys"
//
// [[arguments]]
// name = "offsets"
// type = "int32"
// shape = ["BUCKETS + 1"]
// fill = "reference:offsets"
//
// [[arguments]]
// name = "sorted"
// type = "float32"
// shape = ["N"]
// output = true
//
// [[arguments]]
// name = "buckets"
// type = "int32"
// value = "BUCKETS"
//
// [compile]
// flags = ["-O3"]
// standard = "c++17"
// ///

constexpr int most_keys = 2048;

// Every bucket's keys in order: a key's place is the number of those that go before it.
extern "C" __global__ void __launch_bounds__(512)
    sort_buckets(const float* __restrict__ keys, const int* __restrict__ offsets,
                 float* __restrict__ sorted, int buckets) {
    __shared__ float4 bucket[most_keys / 4];
    const int each = (buckets + gridDim.x - 1) / gridDim.x;
    for (int k = 0; k < each; ++k) {
        const int number = blockIdx.x + k * gridDim.x;
        if (number >= buckets) {
            break;
        }
        const int first = offsets[number];
        const int count = offsets[number + 1] - first;
        const int fours = (count + 3) / 4;
        for (int i = threadIdx.x; i < 4 * fours; i += blockDim.x) {
            reinterpret_cast<float*>(bucket)[i] = i < count ? keys[first + i] : INFINITY;
        }
        __syncthreads();
        for (int i = threadIdx.x; i < count; i += blockDim.x) {
            const float key = reinterpret_cast<const float*>(bucket)[i];
            int place = 0;
#pragma unroll 4
            for (int j = 0; j < fours; ++j) {
                const float4 four = bucket[j];
                place += (four.x < key) | ((four.x == key) & (4 * j < i));
                place += (four.y < key) | ((four.y == key) & (4 * j + 1 < i));
                place += (four.z < key) | ((four.z == key) & (4 * j + 2 < i));
                place += (four.w < key) | ((four.w == key) & (4 * j + 3 < i));
            }
            sorted[first + place] = key;
        }
        __syncthreads();
    }
}
