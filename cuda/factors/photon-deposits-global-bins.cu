// /// factors
// title = "Energy that photons deposit in 64 layers of tissue"
// kind = "one alone does not pay"
// expect = "Atomics on 64 addresses hide the divergence: B pays only after A."
// tolerance = 0.0
//
// [causes.A]
// bottleneck = "atomic-contention"
// fix = "Count deposits in shared memory and add them to the global bins at the end of a block."
//
// [causes.B]
// bottleneck = "warp-divergence"
// fix = "Compute absorption and scattering without a branch."
// ///
#include "common.cuh"

constexpr int kPhotons = 1 << 19, kSteps = 24, kLayers = 64;

__global__ void __launch_bounds__(256) k(const unsigned* seeds, unsigned* deposits) {
#ifdef FIX_A
    __shared__ unsigned local[kLayers];
    if (threadIdx.x < kLayers) local[threadIdx.x] = 0;
    __syncthreads();
#endif
    for (int photon = blockIdx.x * blockDim.x + threadIdx.x; photon < kPhotons;
         photon += gridDim.x * blockDim.x) {
        unsigned state = seeds[photon], depth = 0, weight = 4096;
        for (int s = 0; s < kSteps; ++s) {
            state = state * 1664525u + 1013904223u;
            const unsigned draw = hash32(state);
#ifdef FIX_B
            const bool scatters = draw & 1;
            unsigned x = draw >> 8, lost = weight;
#pragma unroll
            for (int i = 0; i < 12; ++i) x = x * (scatters ? 0x9e3779b1u : 0x85ebca6bu) ^ (x >> (scatters ? 7 : 9));
            lost >>= 3 + (x & (scatters ? 3 : 1));
            depth += (scatters ? x >> 29 : x >> 30) + !scatters;
#else
            unsigned x = draw >> 8, lost;
            if (draw & 1) {
#pragma unroll
                for (int i = 0; i < 12; ++i) x = x * 0x9e3779b1u ^ (x >> 7);
                lost = weight >> (3 + (x & 3));
                depth += x >> 29;
            } else {
#pragma unroll
                for (int i = 0; i < 12; ++i) x = x * 0x85ebca6bu ^ (x >> 9);
                lost = weight >> (3 + (x & 1));
                depth += (x >> 30) + 1;
            }
#endif
            weight -= lost;
#ifdef FIX_A
            atomicAdd(local + depth % kLayers, lost);
#else
            atomicAdd(deposits + depth % kLayers, lost);
#endif
        }
    }
#ifdef FIX_A
    __syncthreads();
    if (threadIdx.x < kLayers) atomicAdd(deposits + threadIdx.x, local[threadIdx.x]);
#endif
}

int main() {
    unsigned* seeds = uniform<unsigned>(kPhotons, 0.0, 4294967295.0, 33);
    unsigned* deposits = zeros<unsigned>(kLayers);
    MEASURE(deposits, kLayers, k<<<1056, 256>>>(seeds, deposits));
}
