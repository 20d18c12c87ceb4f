// /// factors
// title = "Attenuation from the 16-bit counts of a scanner"
// kind = "alternatives"
// blind = true
// expect = "One block of four warps an SM, each with one load in flight, uses a third of DRAM. Eight loads before the first use, or sixteen blocks an SM, both reach DRAM's limit (2.5x to 3x); the second then adds under 10 %."
//
// [causes.A]
// bottleneck = "memory-latency"
// fix = "Load eight groups of counts before the first of them is used."
//
// [causes.B]
// bottleneck = "small-grid"
// fix = "Launch sixteen blocks an SM instead of one."
// ///
#include "common.cuh"

#ifdef FIX_A
constexpr int kAhead = 8;
#else
constexpr int kAhead = 1;
#endif
#ifdef FIX_B
constexpr int kBlocks = 132 * 16;
#else
constexpr int kBlocks = 132;
#endif
constexpr int kThreads = 128, kStride = kBlocks * kThreads, kGroups = 132 * 16 * kThreads * 8 * 4;

__device__ __forceinline__ float attenuation(unsigned count, float log_air) {
    return log_air - __logf(static_cast<float>(count + 1));
}

__device__ __forceinline__ float4 four(unsigned low, unsigned high, float log_air) {
    return make_float4(attenuation(low & 0xffffu, log_air), attenuation(low >> 16, log_air),
                       attenuation(high & 0xffffu, log_air), attenuation(high >> 16, log_air));
}

__global__ void __launch_bounds__(kThreads) k(const uint4* counts, float log_air, float4* out) {
#pragma unroll 1
    for (int i = blockIdx.x * kThreads + threadIdx.x; i < kGroups; i += kStride * kAhead) {
        uint4 raw[kAhead];
#pragma unroll
        for (int n = 0; n < kAhead; ++n) raw[n] = counts[i + n * kStride];
#pragma unroll
        for (int n = 0; n < kAhead; ++n) {
            const size_t to = 2 * size_t(i + n * kStride);
            out[to] = four(raw[n].x, raw[n].y, log_air);
            out[to + 1] = four(raw[n].z, raw[n].w, log_air);
        }
    }
}

__global__ void scan(unsigned* words, size_t n) {
    const size_t i = blockIdx.x * size_t(256) + threadIdx.x;
    if (i < n) words[i] = hash32(unsigned(i) + 1091);
}

int main() {
    unsigned* words = zeros<unsigned>(size_t(kGroups) * 4);
    scan<<<kGroups / 64, 256>>>(words, size_t(kGroups) * 4);
    float* out = zeros<float>(size_t(kGroups) * 8);
    MEASURE(out, size_t(kGroups) * 8,
            k<<<kBlocks, kThreads>>>(reinterpret_cast<const uint4*>(words), 11.15f,
                                     reinterpret_cast<float4*>(out)));
}
