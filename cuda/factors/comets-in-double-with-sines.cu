// /// factors
// title = "Positions of comets by five Kepler iterations"
// kind = "one alone does not pay"
// expect = "The fp64 pipe is the limit by far: fewer special functions pay only once the rest is in float."
//
// [causes.A]
// bottleneck = "fp64-throughput"
// fix = "Compute the series of perturbations in float."
//
// [causes.B]
// bottleneck = "sfu-throughput"
// fix = "Refine sine and cosine of the last iteration by their derivatives instead of computing both again."
// ///
#include "common.cuh"

constexpr int kComets = 1 << 23, kIterations = 5, kTerms = 12;
#ifdef FIX_A
using Real = float;
#else
using Real = double;
#endif

__global__ void __launch_bounds__(256) k(const float* anomalies, const float* shapes, float* positions) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float mean = anomalies[i], e = shapes[i];
    float angle = mean;
    Real drift = Real(0.5) * mean, sum = 0;
    float s = __sinf(angle), c = __cosf(angle);
    for (int n = 0; n < kIterations; ++n) {
        const float step = (angle - e * s - mean) / (1.0f - e * c);
        angle -= step;
#ifdef FIX_B
        const float half = 0.5f * step * step, old = s;
        s = s * (1.0f - half + half * half * (1.0f / 6.0f)) - c * step * (1.0f - half * (1.0f / 3.0f));
        c = c * (1.0f - half + half * half * (1.0f / 6.0f)) + old * step * (1.0f - half * (1.0f / 3.0f));
#else
        // Five-point means tame the error of the fast functions.
        s = c = 0.0f;
#pragma unroll
        for (int p = -2; p <= 2; ++p) {
            s += 0.2f * __sinf(angle + 1e-3f * p);
            c += 0.2f * __cosf(angle + 1e-3f * p);
        }
#endif
#pragma unroll 4
        for (int t = 0; t < kTerms; ++t) {
            sum += drift * Real(0.001) * (Real(1.0) - drift * Real(0.125));
            drift = drift * Real(0.97) + Real(0.002);
        }
    }
    positions[i] = 3.0f + c - e + float(sum);
}

int main() {
    float* anomalies = uniform<float>(kComets, 0.1, 3.0, 35);
    float* shapes = uniform<float>(kComets, 0.01, 0.3, 36);
    float* positions = zeros<float>(kComets);
    MEASURE(positions, kComets, k<<<kComets / 256, 256>>>(anomalies, shapes, positions));
}
