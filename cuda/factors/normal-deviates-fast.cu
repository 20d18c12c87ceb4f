// /// factors
// title = "Normal deviates by Box and Muller, both of each pair used"
// kind = "healthy"
// limit = "sfu-throughput"
// expect = "Logarithm, root, sine and cosine of each pair fill the special function unit; none is computed twice."
// ///
#include "common.cuh"

constexpr int kStreams = 1 << 21, kPairs = 64;

__global__ void __launch_bounds__(256) k(const unsigned* seeds, float* means) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned state = seeds[i];
    float sum = 0.0f;
#pragma unroll 4
    for (int p = 0; p < kPairs; ++p) {
        state = state * 1664525u + 1013904223u;
        const float u = __uint_as_float(0x3f800000u | state >> 9) - 0.99999994f;
        state = state * 1664525u + 1013904223u;
        const float angle = __uint_as_float(0x3f800000u | state >> 9) * 6.2831853f;
        float root;
        asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(root) : "f"(-1.3862944f * __log2f(u)));
        sum += root * (__sinf(angle) + 0.5f * __cosf(angle));
    }
    means[i] = sum * (1.0f / kPairs);
}

int main() {
    unsigned* seeds = uniform<unsigned>(kStreams, 0.0, 4294967295.0, 72);
    float* means = zeros<float>(kStreams);
    MEASURE(means, kStreams, k<<<kStreams / 256, 256>>>(seeds, means));
}
