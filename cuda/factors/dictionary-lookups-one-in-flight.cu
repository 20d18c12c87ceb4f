// /// factors
// title = "Sum dictionary entries at given keys"
// kind = "alternatives"
// expect = "Few loads are under way: more from each thread or more threads both reach the rate of random DRAM sectors."
//
// [causes.A]
// bottleneck = "memory-latency"
// fix = "Look up 16 keys of a list before adding their entries."
//
// [causes.B]
// bottleneck = "small-grid"
// fix = "Launch 2112 blocks instead of 132."
// ///
#include "common.cuh"

constexpr int kEntries = 1 << 28, kLists = 132 * 128 * 16, kLength = 64;
#ifdef FIX_A
constexpr int kAhead = 16;
#else
constexpr int kAhead = 1;
#endif

__global__ void __launch_bounds__(128) k(const unsigned char* entries, const unsigned* keys, unsigned* sums) {
    for (int list = blockIdx.x * blockDim.x + threadIdx.x; list < kLists; list += gridDim.x * blockDim.x) {
        unsigned sum = 0;
#pragma unroll 1
        for (int n = 0; n < kLength; n += kAhead) {
            unsigned found[kAhead];
#pragma unroll
            for (int i = 0; i < kAhead; ++i) {
                found[i] = entries[keys[size_t(n + i) * kLists + list] % kEntries];
            }
#pragma unroll
            for (int i = 0; i < kAhead; ++i) sum = sum * 3 + found[i];
        }
        sums[list] = sum;
    }
}

int main() {
    unsigned char* entries = uniform<unsigned char>(kEntries, 0.0, 256.0, 53);
    unsigned* keys = uniform<unsigned>(size_t(kLists) * kLength, 0.0, 4294967295.0, 54);
    unsigned* sums = zeros<unsigned>(kLists);
#ifdef FIX_B
    const int blocks = 2112;
#else
    const int blocks = 132;
#endif
    MEASURE(sums, kLists, k<<<blocks, 128>>>(entries, keys, sums));
}
