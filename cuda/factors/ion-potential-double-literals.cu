// /// factors
// title = "Screened potential of 256 ions at each point of a grid"
// kind = "both pay"
// expect = "Either fix pays by itself: A makes each pair cheaper, B uses the other 84 SMs."
//
// [causes.A]
// bottleneck = "fp64-throughput"
// fix = "Write the literals as float, so that no part of a pair is computed in double."
//
// [causes.B]
// bottleneck = "small-grid"
// fix = "Launch 1056 blocks instead of 48."
// ///
#include "common.cuh"

constexpr int kPoints = 1 << 20, kIons = 256;

#ifdef FIX_A
#define LITERAL(x) x##f
#else
#define LITERAL(x) x
#endif

__global__ void __launch_bounds__(256) k(const float4* ions, const float* heights, float* potential) {
    for (int p = blockIdx.x * blockDim.x + threadIdx.x; p < kPoints; p += gridDim.x * blockDim.x) {
        const float x = (p & 1023) * 0.01f, y = (p >> 10) * 0.01f, z = heights[p];
        float sum = 0.0f;
        for (int i = 0; i < kIons; ++i) {
            const float4 ion = ions[i];
            const float dx = x - ion.x, dy = y - ion.y, dz = z - ion.z;
            const float r2 = dx * dx + dy * dy + dz * dz + 0.05f;
            const float inverse = rsqrtf(r2);
            // Screening as a series in 1/r, with a soft core.
            const float screening = LITERAL(1.0) - inverse * (LITERAL(0.25) - inverse * (LITERAL(0.0521) -
                inverse * (LITERAL(0.00912) - inverse * (LITERAL(0.00147) - inverse * (LITERAL(0.000213) -
                inverse * (LITERAL(2.81e-5) - inverse * (LITERAL(3.4e-6) - inverse * (LITERAL(3.83e-7) -
                inverse * (LITERAL(4.01e-8) - inverse * LITERAL(3.9e-9))))))))));
            sum += ion.w * inverse * screening;
        }
        potential[p] = sum;
    }
}

int main() {
    float4* ions = reinterpret_cast<float4*>(uniform<float>(4 * kIons, 0.1, 10.0, 1));
    float* heights = uniform<float>(kPoints, 0.0, 10.0, 2);
    float* potential = zeros<float>(kPoints);
#ifdef FIX_B
    const int blocks = 1056;
#else
    const int blocks = 48;
#endif
    MEASURE(potential, kPoints, k<<<blocks, 256>>>(ions, heights, potential));
}
