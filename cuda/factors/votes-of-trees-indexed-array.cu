// /// factors
// title = "Class with the most votes of 64 trees"
// kind = "alternatives"
// expect = "The counters leave local memory either way; both together are the packed counters."
// tolerance = 0.0
//
// [causes.A]
// bottleneck = "local-memory-traffic"
// fix = "Count in shared memory, one column of counters a thread."
//
// [causes.B]
// bottleneck = "local-memory-traffic"
// fix = "Pack the counters into the bytes of two 64-bit registers."
// ///
#include "common.cuh"

constexpr int kSamples = 1 << 21, kTrees = 64, kClasses = 16, kThreads = 128;

__global__ void __launch_bounds__(kThreads) k(const uint4* votes, unsigned* winners) {
    const int sample = blockIdx.x * kThreads + threadIdx.x;
#if defined(FIX_B)
    unsigned long long low = 0, high = 0;
#define COUNT(c) int(((c) < 8 ? low : high) >> ((c) % 8 * 8) & 255)
#elif defined(FIX_A)
    __shared__ int counts[kClasses * kThreads];
#define COUNT(c) counts[(c) * kThreads + threadIdx.x]
#else
    int counts[kClasses];
#define COUNT(c) counts[c]
#endif
#ifndef FIX_B
    for (int c = 0; c < kClasses; ++c) COUNT(c) = 0;
#endif
    for (int part = 0; part < kTrees / 16; ++part) {
        const uint4 four = votes[size_t(part) * kSamples + sample];
        const unsigned words[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
        for (int i = 0; i < 16; ++i) {
            const int vote = words[i / 4] >> (i % 4 * 8) & (kClasses - 1);
#ifdef FIX_B
            const unsigned long long one = 1ull << (vote % 8 * 8);
            low += vote < 8 ? one : 0;
            high += vote < 8 ? 0 : one;
#else
            COUNT(vote) += 1;
#endif
        }
    }
    int best = 0;
    unsigned winner = 0;
#pragma unroll
    for (int c = 0; c < kClasses; ++c) {
        if (COUNT(c) > best) {
            best = COUNT(c);
            winner = c;
        }
    }
    winners[sample] = winner * 256 + best;
}

int main() {
    const size_t n = size_t(kSamples) * kTrees;
    const uint4* votes = reinterpret_cast<uint4*>(uniform<unsigned char>(n, 0.0, 256.0, 59));
    unsigned* winners = zeros<unsigned>(kSamples);
    MEASURE(winners, kSamples, k<<<kSamples / kThreads, kThreads>>>(votes, winners));
}
