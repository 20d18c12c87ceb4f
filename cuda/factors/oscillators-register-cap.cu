// /// factors
// title = "Coupled oscillators of 12 modes, integrated over 400 steps"
// kind = "one alone does not pay"
// expect = "The cap costs nothing until B keeps four systems in a thread, which spill: A pays after B only."
//
// [causes.A]
// bottleneck = "local-memory-traffic"
// fix = "Drop the limit of 32 registers a thread."
//
// [causes.B]
// bottleneck = "dependency-latency"
// fix = "Integrate four independent systems in each thread."
// ///
#include "common.cuh"

constexpr int kSystems = 132 * 128 * 4, kModes = 12, kSteps = 400;
#ifdef FIX_A
#define REGISTER_LIMIT
#else
#define REGISTER_LIMIT __maxnreg__(32)
#endif
#ifdef FIX_B
constexpr int kTogether = 4;
#else
constexpr int kTogether = 1;
#endif

__global__ void REGISTER_LIMIT k(const float* initial, float damping, float* energies) {
    const int threads = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < kSystems / kTogether; i += threads) {
        float modes[kTogether][kModes];
#pragma unroll
        for (int s = 0; s < kTogether; ++s) {
#pragma unroll
            for (int m = 0; m < kModes; ++m) {
                modes[s][m] = initial[size_t(m) * kSystems + s * (kSystems / kTogether) + i];
            }
        }
#pragma unroll 1
        for (int step = 0; step < kSteps; ++step) {
            // Each mode follows the one before, so that a system is one chain of dependent sums.
#pragma unroll
            for (int m = 0; m < kModes; ++m) {
#pragma unroll
                for (int s = 0; s < kTogether; ++s) {
                    const float push = modes[s][(m + kModes - 1) % kModes];
                    modes[s][m] = modes[s][m] * damping + push * (0.02f - 0.001f * push * modes[s][m]);
                }
            }
        }
#pragma unroll
        for (int s = 0; s < kTogether; ++s) {
            float energy = 0.0f;
#pragma unroll
            for (int m = 0; m < kModes; ++m) energy += modes[s][m] * modes[s][m];
            energies[s * (kSystems / kTogether) + i] = energy;
        }
    }
}

int main() {
    float* initial = uniform<float>(size_t(kSystems) * kModes, 0.2, 1.0, 47);
    float* energies = zeros<float>(kSystems);
    MEASURE(energies, kSystems, k<<<132, 128>>>(initial, 0.985f, energies));
}
