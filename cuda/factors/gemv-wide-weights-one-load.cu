// /// factors
// title = "Product of a quantised matrix and a vector"
// kind = "one alone does not pay"
// expect = "Each thread waits for one load at a time: halving the bytes pays only once enough loads are under way."
// tolerance = 0.0
//
// [causes.A]
// bottleneck = "memory-latency"
// fix = "Load the weights of eight steps before the sums that need them."
//
// [causes.B]
// bottleneck = "dram-bandwidth"
// fix = "Store the weights in 16 bits instead of 32."
// ///
#include "common.cuh"

constexpr int kRows = 8192, kColumns = 16384, kThreads = 512;
#ifdef FIX_B
using Weight = short;
#else
using Weight = int;
#endif

__global__ void __launch_bounds__(kThreads) k(const Weight* weights, const int* vector, int* out) {
    __shared__ int sums[kThreads / 32];
    for (int row = blockIdx.x; row < kRows; row += gridDim.x) {
        const Weight* from = weights + size_t(row) * kColumns;
        int sum = 0;
#ifdef FIX_A
#pragma unroll 1
        for (int c = threadIdx.x; c < kColumns; c += 8 * kThreads) {
            int loaded[8];
#pragma unroll
            for (int i = 0; i < 8; ++i) loaded[i] = from[c + i * kThreads];
#pragma unroll
            for (int i = 0; i < 8; ++i) sum += loaded[i] * vector[c + i * kThreads];
        }
#else
#pragma unroll 1
        for (int c = threadIdx.x; c < kColumns; c += kThreads) sum += from[c] * vector[c];
#endif
        for (int s = 16; s > 0; s /= 2) sum += __shfl_xor_sync(~0u, sum, s);
        if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum;
        __syncthreads();
        if (threadIdx.x == 0) {
            for (int w = 1; w < kThreads / 32; ++w) sum += sums[w];
            out[row] = sum;
        }
        __syncthreads();
    }
}

int main() {
    Weight* weights = uniform<Weight>(size_t(kRows) * kColumns, 0.0, 127.0, 43);
    int* vector = uniform<int>(kColumns, 0.0, 16.0, 44);
    int* out = zeros<int>(kRows);
    MEASURE(out, kRows, k<<<264, kThreads>>>(weights, vector, out));
}
