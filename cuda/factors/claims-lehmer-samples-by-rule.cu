// /// factors
// title = "Insurance claims: seeded draws for each claim, then one of four rules"
// kind = "both pay"
// expect = "Both causes cost issue slots of the same warps, so each fix takes its own part away."
//
// [causes.A]
// bottleneck = "warp-divergence"
// fix = "Process the claims in an order grouped by rule, so that a warp takes one branch."
//
// [causes.B]
// bottleneck = "integer-throughput"
// fix = "Make the modulus of the generator a constant, which replaces 64-bit divisions by products."
// ///
#include "common.cuh"

constexpr int kClaims = 1 << 21, kDraws = 12, kSteps = 40;

__device__ float settle(int rule, float amount, float risk) {
    float value = amount;
    switch (rule) {
        case 0:
            for (int i = 0; i < kSteps; ++i) value = value * 0.97f + fminf(risk, value) * 0.02f;
            break;
        case 1:
            for (int i = 0; i < kSteps; ++i) value = fmaxf(value - risk * 0.01f, 0.3f * value) + 0.004f;
            break;
        case 2:
            for (int i = 0; i < kSteps; ++i) value = value * (1.0f - 0.01f * risk) + 0.003f * fabsf(value - risk);
            break;
        default:
            for (int i = 0; i < kSteps; ++i) value += 0.015f * (risk - value) * (1.0f + 0.1f * value);
    }
    return value;
}

__global__ void __launch_bounds__(256) k(const unsigned* seeds, const int* order, unsigned long long modulus,
                                         float* paid) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
#ifdef FIX_A
    const int claim = order[i];
#else
    const int claim = i;
#endif
    unsigned state = seeds[claim];
    float risk = 0.0f;
    for (int d = 0; d < kDraws; ++d) {
#ifdef FIX_B
        state = state * 48271ull % 2147483647ull;
#else
        state = state * 48271ull % modulus;
#endif
        risk += state * (1.0f / 2147483648.0f);
    }
    paid[claim] = settle(seeds[claim] & 3, 1.0f + (state & 1023) * 0.01f, risk);
}

int main() {
    unsigned* seeds = uniform<unsigned>(kClaims, 1.0, 2147483646.0, 4);
    const std::vector<unsigned> host = download(seeds, kClaims);
    std::vector<int> order;
    for (unsigned rule = 0; rule < 4; ++rule) {
        for (int i = 0; i < kClaims; ++i) {
            if ((host[i] & 3) == rule) order.push_back(i);
        }
    }
    int* sorted = upload(order);
    float* paid = zeros<float>(kClaims);
    MEASURE(paid, kClaims, k<<<kClaims / 256, 256>>>(seeds, sorted, 2147483647ull, paid));
}
