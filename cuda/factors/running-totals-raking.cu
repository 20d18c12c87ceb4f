// /// factors
// title = "Running totals within groups of 4096 payments, 16 a thread"
// kind = "single"
// expect = "A pays alone."
//
// [causes.A]
// bottleneck = "shared-bank-conflicts"
// fix = "Insert one unused element after each 16 payments."
// ///
#include "common.cuh"

constexpr int kThreads = 256, kEach = 16, kGroup = kThreads * kEach, kGroups = 1 << 13;

__device__ int place(int i) {
#ifdef FIX_A
    return i + i / kEach;
#else
    return i;
#endif
}

__global__ void __launch_bounds__(kThreads) k(const int* __restrict__ payments, int* __restrict__ totals) {
    __shared__ int values[kGroup + kThreads], warps[kThreads / 32];
    const int t = threadIdx.x, lane = t % 32;
    const size_t first = size_t(blockIdx.x) * kGroup;
    for (int i = t; i < kGroup; i += kThreads) values[place(i)] = payments[first + i];
    __syncthreads();
    int sum = 0;
#pragma unroll 4
    for (int i = 0; i < kEach; ++i) {
        sum += values[place(t * kEach + i)];
        values[place(t * kEach + i)] = sum;
    }
    int before = sum;
    for (int s = 1; s < 32; s *= 2) {
        const int other = __shfl_up_sync(~0u, before, s);
        if (lane >= s) before += other;
    }
    if (lane == 31) warps[t / 32] = before;
    __syncthreads();
    before -= sum;
    for (int w = 0; w < t / 32; ++w) before += warps[w];
#pragma unroll 4
    for (int i = 0; i < kEach; ++i) values[place(t * kEach + i)] += before;
    __syncthreads();
    for (int i = t; i < kGroup; i += kThreads) totals[first + i] = values[place(i)];
}

int main() {
    const size_t n = size_t(kGroup) * kGroups;
    int* payments = uniform<int>(n, 0.0, 1000.0, 74);
    int* totals = zeros<int>(n);
    MEASURE(totals, n, k<<<kGroups, kThreads>>>(payments, totals));
}
