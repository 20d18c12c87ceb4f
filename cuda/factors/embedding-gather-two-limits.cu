// /// factors
// title = "Sums of gathered values of a large table"
// kind = "one alone does not pay"
// expect = "132 blocks fill one place an SM, and shared memory has one place an SM: only both fixes add warps."
//
// [causes.A]
// bottleneck = "small-grid"
// fix = "Launch 2112 blocks instead of 132."
//
// [causes.B]
// bottleneck = "low-occupancy"
// fix = "Ask for the 512 bytes of shared memory that are used, and not for room for the longest list."
// ///
#include "common.cuh"

constexpr int kTable = 1 << 27, kLists = 132 * 128 * 16, kLength = 48;

__global__ void __launch_bounds__(128) k(const float* table, const unsigned* keys, float* sums) {
    extern __shared__ float recent[];
    for (int list = blockIdx.x * blockDim.x + threadIdx.x; list < kLists; list += gridDim.x * blockDim.x) {
        recent[threadIdx.x] = 0.0f;
        float sum = 0.0f;
        unsigned key = keys[list];
#pragma unroll 1
        for (int n = 0; n < kLength; ++n) {
            const float value = table[key % kTable];
            sum += value * (1.0f + 0.1f * recent[threadIdx.x]);
            recent[threadIdx.x] = value;
            key = hash32(key + unsigned(value * 1000.0f));
        }
        sums[list] = sum;
    }
}

int main() {
    float* table = uniform<float>(kTable, 0.0, 1.0, 41);
    unsigned* keys = uniform<unsigned>(kLists, 0.0, 4294967295.0, 42);
    float* sums = zeros<float>(kLists);
#ifdef FIX_A
    const int blocks = 2112;
#else
    const int blocks = 132;
#endif
#ifdef FIX_B
    const int room = 512;
#else
    const int room = 200 << 10;
#endif
    CHECK(cudaFuncSetAttribute(k, cudaFuncAttributeMaxDynamicSharedMemorySize, room));
    MEASURE(sums, kLists, k<<<blocks, 128, room>>>(table, keys, sums));
}
