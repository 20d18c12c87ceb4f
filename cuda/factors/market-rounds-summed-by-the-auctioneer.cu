// /// factors
// title = "Rounds of markets of 256 traders whose demand one thread sums"
// kind = "alternatives"
// blind = true
// expect = "All warps wait while thread 0 adds with compensation: a sum by shuffles, or other blocks on the SM, both leave the traders' FMAs alone."
//
// [causes.A]
// bottleneck = "barrier-stalls"
// fix = "Sum with shuffles in each warp and eight partial sums, instead of 256 compensated additions by thread 0."
//
// [causes.B]
// bottleneck = "low-occupancy"
// fix = "Ask for the shared memory that is used instead of 200 KB, so that eight markets share an SM."
// ///
#include "common.cuh"

constexpr int kTraders = 256, kMarkets = 132 * 8, kRounds = 16, kGoods = 8, kTerms = 128;

__global__ void __launch_bounds__(kTraders) k(const float* tastes, float* prices) {
    extern __shared__ float demands[];
    const int t = threadIdx.x;
    const float taste = tastes[blockIdx.x * kTraders + t];
    float price = 1.0f;
#pragma unroll 1
    for (int round = 0; round < kRounds; ++round) {
        float wants[kGoods];
#pragma unroll
        for (int g = 0; g < kGoods; ++g) wants[g] = 0.1f * g + price;
        const float keep = 0.9f - 0.1f * taste, add = 0.02f * taste + 0.01f * price;
#pragma unroll 8
        for (int n = 0; n < kTerms; ++n) {
#pragma unroll
            for (int g = 0; g < kGoods; ++g) wants[g] = wants[g] * keep + add;
        }
        float demand = 0.0f;
#pragma unroll
        for (int g = 0; g < kGoods; ++g) demand += wants[g];
#ifdef FIX_A
#pragma unroll
        for (int d = 16; d > 0; d /= 2) demand += __shfl_xor_sync(0xffffffffu, demand, d);
        float* partial = demands + round % 2 * 8;
        if (t % 32 == 0) partial[t / 32] = demand;
        __syncthreads();
        float total = 0.0f;
#pragma unroll
        for (int w = 0; w < kTraders / 32; ++w) total += partial[w];
#else
        demands[t] = demand;
        __syncthreads();
        if (t == 0) {
            float sum = 0.0f, lost = 0.0f;
            for (int i = 0; i < kTraders; ++i) {
                const float y = demands[i] - lost, next = sum + y;
                lost = (next - sum) - y;
                sum = next;
            }
            demands[kTraders] = sum;
        }
        __syncthreads();
        const float total = demands[kTraders];
#endif
        price = 0.8f * price + 0.1f * total / kTraders;
    }
    if (t % 32 == 0) prices[blockIdx.x * (kTraders / 32) + t / 32] = price * (1.0f + t);
}

int main() {
    float* tastes = uniform<float>(kTraders * kMarkets, 0.1, 0.9, 271);
    float* prices = zeros<float>(kMarkets * kTraders / 32);
#ifdef FIX_B
    const int room = (kTraders + 1) * sizeof(float);
#else
    const int room = 200 << 10;
#endif
    CHECK(cudaFuncSetAttribute(k, cudaFuncAttributeMaxDynamicSharedMemorySize, room));
    MEASURE(prices, kMarkets * kTraders / 32, k<<<kMarkets, kTraders, room>>>(tastes, prices));
}
