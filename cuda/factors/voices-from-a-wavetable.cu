// /// factors
// title = "Loudness of voices with feedback that read a wavetable of 384 partials"
// kind = "one alone does not pay"
// blind = true
// expect = "One block an SM builds its table (a quarter of the time, limited by sines) and plays eight voices a thread with two warps a scheduler. Eight times as many blocks (A) build the table eight times an SM: A alone is about 2x slower; after B, which alone pays 1.3x, A pays 2x."
//
// [causes.A]
// bottleneck = "small-grid"
// fix = "Play one voice a thread in eight times as many blocks, so that eight blocks share an SM."
//
// [causes.B]
// bottleneck = "sfu-throughput"
// fix = "Copy a table that was built once, instead of summing the partials in each block."
// ///
#include "common.cuh"

#ifdef FIX_A
constexpr int kEach = 1;
#else
constexpr int kEach = 8;
#endif
constexpr int kThreads = 256, kTable = 2048, kPartials = 384, kVoices = 132 * 8 * kThreads, kSamples = 256;

struct alignas(16) Partial {
    float number, level, phase, unused;
};

__device__ __forceinline__ float wave_at(const Partial* __restrict__ partials, int i) {
    const float angle = i * (6.2831853f / kTable);
    float sum = 0.0f;
#pragma unroll 8
    for (int p = 0; p < kPartials; ++p) {
        const Partial partial = partials[p];
        sum += partial.level * __sinf(partial.number * angle + partial.phase);
    }
    return sum;
}

__global__ void build(const Partial* partials, float* table) {
    const int i = blockIdx.x * kThreads + threadIdx.x;
    table[i] = wave_at(partials, i);
}

__global__ void __launch_bounds__(kThreads) k(const Partial* partials, const float* table, float* loudness) {
    __shared__ float wave[kTable];
    for (int i = threadIdx.x; i < kTable; i += kThreads) {
#ifdef FIX_B
        wave[i] = table[i];
#else
        wave[i] = wave_at(partials, i);
#endif
    }
    __syncthreads();
#pragma unroll 1
    for (int n = 0; n < kEach; ++n) {
        const int voice = (blockIdx.x * kEach + n) * kThreads + threadIdx.x;
        const unsigned pitch = (4u << 20) + (hash32(voice) >> 6);
        const float feedback = 3e7f + 1e3f * (voice % 4096);
        unsigned phase = hash32(voice + 1);
        float y = 0.0f, loud = 0.0f;
#pragma unroll 4
        for (int s = 0; s < kSamples; ++s) {
            // The upper eleven bits of the phase are the place in the table.
            const unsigned at = (phase + static_cast<unsigned>(static_cast<int>(y * feedback))) >> 21;
            y = 0.5f * (y + wave[at]);
            loud += y * y;
            phase += pitch;
        }
        loudness[voice] = loud;
    }
}

int main() {
    std::vector<Partial> host(kPartials);
    for (int p = 0; p < kPartials; ++p) {
        host[p] = {p + 1.0f, 0.6f / (p + 1.0f), static_cast<float>(6.28 * unit(p, 1021)), 0.0f};
    }
    Partial* partials = upload(host);
    float* table = zeros<float>(kTable);
    build<<<kTable / kThreads, kThreads>>>(partials, table);
    float* loudness = zeros<float>(kVoices);
    MEASURE(loudness, kVoices, k<<<kVoices / kEach / kThreads, kThreads>>>(partials, table, loudness));
}
