// /// factors
// title = "Weights of words, half of which are among 16 frequent ones"
// kind = "single"
// expect = "A pays alone."
// tolerance = 0.0
//
// [causes.A]
// bottleneck = "atomic-contention"
// fix = "Collect the 16 frequent words in shared memory and add them once for each block."
// ///
#include "common.cuh"

constexpr int kWords = 1 << 24, kVocabulary = 1 << 16, kHot = 16;

__global__ void __launch_bounds__(256) k(const unsigned* __restrict__ words, unsigned* weights) {
#ifdef FIX_A
    __shared__ unsigned hot[kHot];
    if (threadIdx.x < kHot) hot[threadIdx.x] = 0;
    __syncthreads();
#endif
    for (int i = blockIdx.x * 256 + threadIdx.x; i < kWords; i += gridDim.x * 256) {
        const unsigned draw = words[i];
        const unsigned word = draw & 1 ? draw >> 1 & (kHot - 1) : draw >> 8 & (kVocabulary - 1);
        const unsigned weight = 1 + (draw >> 28);
#ifdef FIX_A
        if (word < kHot) {
            atomicAdd(hot + word, weight);
        } else {
            atomicAdd(weights + word, weight);
        }
#else
        atomicAdd(weights + word, weight);
#endif
    }
#ifdef FIX_A
    __syncthreads();
    if (threadIdx.x < kHot) atomicAdd(weights + threadIdx.x, hot[threadIdx.x]);
#endif
}

int main() {
    unsigned* words = uniform<unsigned>(kWords, 0.0, 4294967295.0, 75);
    unsigned* weights = zeros<unsigned>(kVocabulary);
    MEASURE(weights, kVocabulary, k<<<1056, 256>>>(words, weights));
}
