// /// factors
// title = "Smallest hash of the 16-mers in each window of a genome"
// kind = "both pay"
// expect = "Both causes cost issue slots of the same warps: a 64-bit division and 16 shifts for each base."
// tolerance = 0.0
//
// [causes.A]
// bottleneck = "integer-throughput"
// fix = "Make the number of buckets a constant, which replaces the 64-bit division by products."
//
// [causes.B]
// bottleneck = "instruction-issue"
// fix = "Shift the next base into the code of the last 16-mer instead of building each code again."
// ///
#include "common.cuh"

constexpr int kWindow = 64, kMer = 16, kThreads = 128;
constexpr int kWindows = 1 << 21;

__device__ unsigned code_of(unsigned base) { return (base >> 1) & 3; }

__global__ void __launch_bounds__(kThreads) k(const uint4* genome, unsigned long long buckets, unsigned* smallest) {
    const int window = blockIdx.x * kThreads + threadIdx.x;
    unsigned least = ~0u;
#ifdef FIX_B
    unsigned code = 0;
#else
    unsigned last[kMer] = {};
#endif
    for (int group = 0; group < kWindow; group += 16) {
        alignas(16) unsigned char now[16];
        *reinterpret_cast<uint4*>(now) = genome[group / 16 * kWindows + window];
#pragma unroll
        for (int i = 0; i < 16; ++i) {
#ifdef FIX_B
            code = code << 2 | code_of(now[i]);
#else
            last[i] = now[i];
            unsigned code = 0;
#pragma unroll
            for (int j = 1; j <= kMer; ++j) code = code << 2 | code_of(last[(i + j) % kMer]);
#endif
#ifdef FIX_A
            const unsigned hash = code * 11400714819323198485ull % 4294967291ull;
#else
            const unsigned hash = code * 11400714819323198485ull % buckets;
#endif
            if (group + i >= kMer - 1) least = min(least, hash);
        }
    }
    smallest[window] = least;
}

int main() {
    const size_t n = size_t(kWindows) * kWindow;
    const uint4* genome = reinterpret_cast<uint4*>(uniform<unsigned char>(n, 65.0, 85.0, 13));
    unsigned* smallest = zeros<unsigned>(kWindows);
    MEASURE(smallest, kWindows, k<<<kWindows / kThreads, kThreads>>>(genome, 4294967291ull, smallest));
}
