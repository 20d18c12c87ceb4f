// /// factors
// title = "Hum taken out of many channels by comb filters with delay rings in shared memory"
// kind = "one alone does not pay"
// blind = true
// expect = "Two blocks an SM wait for the next sample; rings of 112 floats conflict sixteenfold but mostly under that wait. The pad (A) makes a block 113.5 KB, so one fits an SM: A alone is about 1.6x slower. With short rings (B, about 1.6x) eight blocks fit, conflicts are the limit and A pays 2x or more."
//
// [causes.A]
// bottleneck = "shared-bank-conflicts"
// fix = "Pad each thread's ring by one float, so that the lanes fall on different banks."
//
// [causes.B]
// bottleneck = "low-occupancy"
// fix = "Size the ring for the lag in use (16) instead of the longest lag that the format allows (112)."
// ///
#include "common.cuh"

constexpr int kThreads = 256, kChannels = 132 * 8 * kThreads, kSteps = 256, kLag = 13, kGains = 128;
#ifdef FIX_A
constexpr int kPad = 1;
#else
constexpr int kPad = 0;
#endif
#ifdef FIX_B
constexpr int kRing = 16;
#else
constexpr int kRing = 112;
#endif
constexpr int kRoom = (kGains + kThreads * (kRing + kPad)) * sizeof(float);

__global__ void __launch_bounds__(kThreads) k(const float* __restrict__ signal, const float* gains,
                                              float* power) {
    extern __shared__ float shared[];
    const int channel = blockIdx.x * kThreads + threadIdx.x;
    float* gain = shared;
    float* ring = shared + kGains + threadIdx.x * (kRing + kPad);
    if (threadIdx.x < kGains) gain[threadIdx.x] = gains[threadIdx.x];
    for (int n = kRing - kLag; n < kRing; ++n) ring[n] = 0.0f;
    __syncthreads();
    int put = 0, take = kRing - kLag;
    float sum = 0.0f;
#pragma unroll 1
    for (int n = 0; n < kSteps; ++n) {
        const float x = signal[size_t(n) * kChannels + channel];
        const float y = x - gain[n % kGains] * ring[take];
        ring[put] = y;
        sum += y * y;
        put = put + 1 == kRing ? 0 : put + 1;
        take = take + 1 == kRing ? 0 : take + 1;
    }
    power[channel] = sum;
}

int main() {
    float* signal = uniform<float>(size_t(kSteps) * kChannels, -1.0, 1.0, 1031);
    float* gains = uniform<float>(kGains, 0.3, 0.9, 1032);
    float* power = zeros<float>(kChannels);
    CHECK(cudaFuncSetAttribute(k, cudaFuncAttributeMaxDynamicSharedMemorySize, kRoom));
    MEASURE(power, kChannels, k<<<kChannels / kThreads, kThreads, kRoom>>>(signal, gains, power));
}
