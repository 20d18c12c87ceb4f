// /// factors
// title = "Evolution of stars of four types over 200 steps"
// kind = "both pay"
// expect = "Idle SMs, branches taken in turn and double arithmetic multiply each other."
//
// [causes.A]
// bottleneck = "small-grid"
// fix = "Launch 2048 blocks instead of 64."
//
// [causes.B]
// bottleneck = "warp-divergence"
// fix = "Keep the coefficients of the types in a table instead of one branch for each type."
//
// [causes.C]
// bottleneck = "fp64-throughput"
// fix = "Compute in float."
// ///
#include "common.cuh"

constexpr int kStars = 1 << 20, kSteps = 200;
#ifdef FIX_C
using Real = float;
#else
using Real = double;
#endif

__device__ Real factor_of(int type) {
    return type == 0 ? Real(0.01) : type == 1 ? Real(0.012) : type == 2 ? Real(0.008) : Real(0.015);
}

template <int kType>
__device__ Real burn(Real mass, Real heat) {
    for (int s = 0; s < kSteps; ++s) {
        const Real rate = mass * factor_of(kType);
        heat += rate * (Real(2 + kType) - heat) - heat * heat * Real(0.001);
        mass -= rate * heat * Real(0.0005);
    }
    return heat + mass;
}

__device__ Real burn_by_table(Real mass, Real heat, int type) {
    const Real factor = factor_of(type), goal = 2 + type;
    for (int s = 0; s < kSteps; ++s) {
        const Real rate = mass * factor;
        heat += rate * (goal - heat) - heat * heat * Real(0.001);
        mass -= rate * heat * Real(0.0005);
    }
    return heat + mass;
}

__global__ void __launch_bounds__(256) k(const float* masses, const int* types, float* states) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < kStars; i += gridDim.x * blockDim.x) {
        const Real mass = masses[i], heat = mass * Real(0.5);
#ifdef FIX_B
        states[i] = float(burn_by_table(mass, heat, types[i]));
#else
        Real state = 0;
        switch (types[i]) {
            case 0: state = burn<0>(mass, heat); break;
            case 1: state = burn<1>(mass, heat); break;
            case 2: state = burn<2>(mass, heat); break;
            default: state = burn<3>(mass, heat);
        }
        states[i] = float(state);
#endif
    }
}

int main() {
    float* masses = uniform<float>(kStars, 0.5, 3.0, 22);
    int* types = uniform<int>(kStars, 0.0, 4.0, 23);
    float* states = zeros<float>(kStars);
#ifdef FIX_A
    const int blocks = 2048;
#else
    const int blocks = 64;
#endif
    MEASURE(states, kStars, k<<<blocks, 256>>>(masses, types, states));
}
