// /// factors
// title = "Norms of 16 long signals, a block a signal"
// kind = "single"
// expect = "A pays alone."
//
// [causes.A]
// bottleneck = "small-grid"
// fix = "Divide each signal among 128 blocks."
// ///
#include "common.cuh"

constexpr int kSignals = 16, kLength = 1 << 22;
#ifdef FIX_A
constexpr int kParts = 128;
#else
constexpr int kParts = 1;
#endif

__global__ void __launch_bounds__(512) k(const float4* __restrict__ signals, float* norms) {
    const int signal = blockIdx.x / kParts, part = blockIdx.x % kParts;
    const float4* from = signals + size_t(signal) * (kLength / 4) + part * (kLength / 4 / kParts);
    float sum = 0.0f;
#pragma unroll 4
    for (int i = threadIdx.x; i < kLength / 4 / kParts; i += 512) {
        const float4 v = from[i];
        sum += v.x * v.x + v.y * v.y + (v.z * v.z + v.w * v.w);
    }
    for (int s = 16; s > 0; s /= 2) sum += __shfl_xor_sync(~0u, sum, s);
    if (threadIdx.x % 32 == 0) atomicAdd(norms + signal, sum);
}

int main() {
    const float4* signals = reinterpret_cast<float4*>(uniform<float>(size_t(kSignals) * kLength, -1.0, 1.0, 76));
    float* norms = zeros<float>(kSignals);
    MEASURE(norms, kSignals, k<<<kSignals * kParts, 512>>>(signals, norms));
}
