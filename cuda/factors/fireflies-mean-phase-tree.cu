// /// factors
// title = "Swarms of 1024 fireflies that follow the mean flash of their swarm"
// kind = "both pay"
// blind = true
// expect = "The tree has twelve barriers a step, and between them the phase response is computed in double because of its literals."
//
// [causes.A]
// bottleneck = "barrier-stalls"
// fix = "Sum in each warp with shuffles, and meet at one barrier a step."
//
// [causes.B]
// bottleneck = "fp64-throughput"
// fix = "Write the literals of the response as floats."
// ///
#include "common.cuh"

constexpr int kSwarm = 1024, kSwarms = 132 * 4, kSteps = 128;
#ifdef FIX_B
using Real = float;
#else
using Real = double;
#endif

// Series of the response of a firefly to a flash at a distance in phase.
__device__ inline float response(float phase, float flash) {
    const Real x = phase, y = flash;
    Real sine = Real(2.7e-6), cosine = Real(2.4e-5), decay = Real(1.9e-4);
    const Real coefficients[9] = {Real(-1.98e-4), Real(8.33e-3), Real(-1.66e-1), Real(0.031), Real(-0.127),
                                  Real(0.0417),   Real(-0.21),   Real(0.113),    Real(-0.05)};
#pragma unroll
    for (int i = 0; i < 9; ++i) {
        sine = sine * x + coefficients[i];
        cosine = cosine * y + coefficients[8 - i];
        decay = decay * (x + Real(0.1)) + coefficients[(i + 4) % 9];
    }
    return static_cast<float>(x + Real(0.05) * (y - x) + Real(0.01) * (sine + cosine * decay));
}

__global__ void __launch_bounds__(kSwarm) k(const float* phases, float* ends) {
    const int t = threadIdx.x, i = blockIdx.x * kSwarm + t;
    float phase = phases[i];
#ifdef FIX_A
    __shared__ float partial[2][32];
#else
    __shared__ float sums[kSwarm];
#endif
#pragma unroll 1
    for (int step = 0; step < kSteps; ++step) {
#ifdef FIX_A
        float sum = phase;
#pragma unroll
        for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, d);
        if (t % 32 == 0) partial[step % 2][t / 32] = sum;
        __syncthreads();
        sum = partial[step % 2][t % 32];
#pragma unroll
        for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, d);
        const float mean = sum / kSwarm;
#else
        sums[t] = phase;
        __syncthreads();
        for (int half = kSwarm / 2; half > 0; half /= 2) {
            if (t < half) sums[t] += sums[t + half];
            __syncthreads();
        }
        const float mean = sums[0] / kSwarm;
        __syncthreads();
#endif
        phase = response(phase, mean);
    }
    ends[i] = phase;
}

int main() {
    float* phases = uniform<float>(kSwarm * kSwarms, 0.2, 1.0, 211);
    float* ends = zeros<float>(kSwarm * kSwarms);
    MEASURE(ends, kSwarm * kSwarms, k<<<kSwarms, kSwarm>>>(phases, ends));
}
