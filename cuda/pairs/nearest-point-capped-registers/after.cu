// Distance of each query to its nearest point, 64 features, as many registers as needed
//
// Fewer threads fit onto an SM, but each keeps its query in registers.
//
// /// kernelprof
// kernel = "nearest"
// block = [128]
// grid = ["count // 128"]
// reference = "reference:nearest"
// flops = "3 * 64 * count * others"
// min_bytes = "4 * (64 * count + 64 * others + count)"
//
// [sizes]
// count = 270336
// others = 256
//
// [check]
// sizes = { count = 1024, others = 128 }
//
// [[arguments]]
// name = "queries"
// type = "float32"
// shape = [64, "count"]
//
// [[arguments]]
// name = "points"
// type = "float32"
// shape = ["others", 64]
//
// [[arguments]]
// name = "distances"
// type = "float32"
// shape = ["count"]
// output = true
//
// [[arguments]]
// name = "count"
// type = "int32"
// value = "count"
//
// [[arguments]]
// name = "others"
// type = "int32"
// value = "others"
//
// [compile]
// flags = ["-O3"]
// standard = "c++17"
// ///

constexpr int FEATURES = 64;
constexpr int TILE = 32;  // points in shared memory at a time
constexpr int THREADS = 128;

extern "C" __global__ void nearest(const float* __restrict__ queries,
                                   const float* __restrict__ points,
                                   float* __restrict__ distances, int count, int others) {
    alignas(16) __shared__ float tile[TILE][FEATURES];
    const int i = blockIdx.x * THREADS + threadIdx.x;
    float query[FEATURES];
#pragma unroll
    for (int k = 0; k < FEATURES; ++k) {
        query[k] = queries[static_cast<size_t>(k) * count + i];
    }
    float least = INFINITY;
    for (int start = 0; start < others; start += TILE) {
        __syncthreads();
        for (int k = threadIdx.x; k < TILE * FEATURES; k += THREADS) {
            tile[k / FEATURES][k % FEATURES] = points[start * FEATURES + k];
        }
        __syncthreads();
        for (int p = 0; p < TILE; ++p) {
            float distance = 0.0f;
#pragma unroll
            for (int k = 0; k < FEATURES; ++k) {
                const float apart = query[k] - tile[p][k];
                distance = fmaf(apart, apart, distance);
            }
            least = fminf(least, distance);
        }
    }
    distances[i] = sqrtf(least);
}
