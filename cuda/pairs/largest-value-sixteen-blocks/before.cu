// Largest value and its place, found by sixteen blocks
//
// Of 132 SMs sixteen have a block, and the loads that those can have under way use a small part of
// the memory's bandwidth.
//
// /// kernelprof
// kernel = "largest"
// block = [1024]
// grid = [16]
// reference = "reference:largest"
// min_bytes = "4 * N"
//
// [sizes]
// N = 16777216
//
// [check]
// sizes = { N = 1000000 }
//
// [[arguments]]
// name = "values"
// type = "float32"
// shape = ["N"]
//
// [[arguments]]
// name = "best"
// type = "uint64"
// shape = [1]
// fill = "zeros"
// output = true
//
// [[arguments]]
// name = "n"
// type = "int32"
// value = "N"
//
// [compile]
// flags = ["-O3"]
// standard = "c++17"
// ///

using Ranked = unsigned long long;

// Larger for a larger value, and of equal values for the first one.
__device__ Ranked ranked(float value, int place) {
    const unsigned bits = __float_as_uint(value);
    const unsigned rising = bits & 0x80000000u ? ~bits : bits | 0x80000000u;
    return static_cast<Ranked>(rising) << 32 | ~static_cast<unsigned>(place);
}

__device__ Ranked warp_max(Ranked best) {
#pragma unroll
    for (int step = 16; step > 0; step /= 2) {
        best = max(best, __shfl_down_sync(~0u, best, step));
    }
    return best;
}

extern "C" __global__ void __launch_bounds__(1024)
    largest(const float* __restrict__ values, unsigned long long* best, int n) {
    __shared__ Ranked bests[32];
    float value = -INFINITY;
    int place = 0;
    const float4* fours = reinterpret_cast<const float4*>(values);
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n / 4; i += gridDim.x * blockDim.x) {
        const float4 four = fours[i];
        const float next[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            if (next[k] > value) {
                value = next[k];
                place = 4 * i + k;
            }
        }
    }
    const Ranked of_warp = warp_max(ranked(value, place));
    if (threadIdx.x % 32 == 0) {
        bests[threadIdx.x / 32] = of_warp;
    }
    __syncthreads();
    if (threadIdx.x < 32) {
        const Ranked of_block = warp_max(bests[threadIdx.x]);
        if (threadIdx.x == 0) {
            atomicMax(best, of_block);
        }
    }
}
