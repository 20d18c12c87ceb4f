// /// factors
// title = "Variance and zero crossings of heartbeats of 64 to 1664 samples, one beat a warp"
// kind = "both pay"
// blind = true
// expect = "In each round 31 warps wait at the barrier for the longest beat, three times the mean, although a warp reads its own slot only: A pays 1.5x to 2x. Then the samples in double fill DRAM and B pays 1.3x; alone B pays little."
//
// [causes.A]
// bottleneck = "barrier-stalls"
// fix = "Synchronise the warp instead of the block, since a warp's slot is its own."
//
// [causes.B]
// bottleneck = "dram-bandwidth"
// fix = "Store the samples, which are whole numbers of 12 bits, in float instead of double."
// ///
#include "common.cuh"

#ifdef FIX_A
#define SYNC() __syncwarp()
#else
#define SYNC() __syncthreads()
#endif
#ifdef FIX_B
using Stored = float;
#else
using Stored = double;
#endif
constexpr int kWarps = 32, kBlocks = 132, kRounds = 24, kBeats = kBlocks * kWarps * kRounds;
constexpr int kShortest = 64, kLongest = 1664, kRoom = kWarps * kLongest * sizeof(float);

struct alignas(16) Four {
    Stored x, y, z, w;
};

__device__ __forceinline__ float warp_sum(float v) {
#pragma unroll
    for (int d = 16; d > 0; d /= 2) v += __shfl_xor_sync(0xffffffffu, v, d);
    return v;
}

__global__ void __launch_bounds__(kWarps * 32, 1) k(const Four* __restrict__ samples,
                                                    const int2* __restrict__ beats, float* features) {
    extern __shared__ float4 room[];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    float4* slot = room + warp * (kLongest / 4);
    const float* signal = reinterpret_cast<const float*>(slot);
    int beat = blockIdx.x * kWarps + warp;
    int2 next = beats[beat];
#pragma unroll 1
    for (int round = 0; round < kRounds; ++round, beat += kBlocks * kWarps) {
        const int start = next.x, n = next.y;
        if (round + 1 < kRounds) next = beats[beat + kBlocks * kWarps];
        float sum = 0.0f;
#pragma unroll 1
        for (int i = lane; i < n / 4; i += 32) {
            const Four s = samples[start + i];
            const float4 v = make_float4(float(s.x), float(s.y), float(s.z), float(s.w));
            slot[i] = v;
            sum += (v.x + v.y) + (v.z + v.w);
        }
        const float mean = warp_sum(sum) / n;
        SYNC();
        float square = 0.0f, crossings = 0.0f;
#pragma unroll 2
        for (int i = lane; i < n - 1; i += 32) {
            const float a = signal[i] - mean, b = signal[i + 1] - mean;
            square += a * a;
            crossings += a * b < 0.0f ? 1.0f : 0.0f;
        }
        square = warp_sum(square);
        crossings = warp_sum(crossings);
        if (lane == 0) features[beat] = square / n + 1000.0f * crossings;
        SYNC();
    }
}

__global__ void record(Stored* samples, size_t n) {
    const size_t i = blockIdx.x * size_t(256) + threadIdx.x;
    if (i < n) samples[i] = static_cast<Stored>(floor(4096.0 * unit(i, 1061)));
}

int main() {
    std::vector<int2> beats(kBeats);
    int quads = 0;
    for (int i = 0; i < kBeats; ++i) {
        const double u = unit(i, 1062);
        beats[i] = make_int2(quads, kShortest + 4 * int((kLongest - kShortest) / 4 * u * u * u));
        quads += beats[i].y / 4;
    }
    Stored* samples = zeros<Stored>(size_t(quads) * 4);
    record<<<quads / 64 + 1, 256>>>(samples, size_t(quads) * 4);
    int2* list = upload(beats);
    float* features = zeros<float>(kBeats);
    CHECK(cudaFuncSetAttribute(k, cudaFuncAttributeMaxDynamicSharedMemorySize, kRoom));
    MEASURE(features, kBeats,
            k<<<kBlocks, kWarps * 32, kRoom>>>(reinterpret_cast<const Four*>(samples), list, features));
}
