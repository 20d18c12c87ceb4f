// /// factors
// title = "Transforms of 96 experts, whose code is generated for each expert"
// kind = "single"
// expect = "The code of all experts is larger than the instruction caches: A pays alone."
//
// [causes.A]
// bottleneck = "instruction-fetch"
// fix = "Run one loop over coefficients in an array instead of code with coefficients of its own for each expert."
// ///
#include "common.cuh"

constexpr int kExperts = 96, kTokens = 1 << 23, kSteps = 64;

__host__ __device__ constexpr float factor(int expert, int step) {
    return 0.90f + 0.001f * float((expert * 37 + step * 11) % 97);
}

template <int kExpert>
__device__ float transform(float x) {
#pragma unroll
    for (int s = 0; s < kSteps; ++s) {
        x = fmaxf(x * factor(kExpert, s), 0.1f * x - factor(kExpert, s + 5)) + 0.01f;
    }
    return x;
}

template <int kFirst, int kCount>
__device__ float dispatch(int expert, float x) {
    if constexpr (kCount == 1) {
        return transform<kFirst>(x);
    } else if (expert < kFirst + kCount / 2) {
        return dispatch<kFirst, kCount / 2>(expert, x);
    } else {
        return dispatch<kFirst + kCount / 2, kCount - kCount / 2>(expert, x);
    }
}

// Tokens arrive in groups of 32 for the same expert.
__global__ void __launch_bounds__(256) k(const int* experts, const float* tokens, const float2* factors,
                                         float* out) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int expert = experts[i / 32];
    float x = tokens[i];
#ifdef FIX_A
    const float2* mine = factors + expert * kSteps;
#pragma unroll 4
    for (int s = 0; s < kSteps; ++s) {
        const float2 f = mine[s];
        x = fmaxf(x * f.x, 0.1f * x - f.y) + 0.01f;
    }
    out[i] = x;
#else
    out[i] = dispatch<0, kExperts>(expert, x);
#endif
}

int main() {
    const int* experts = uniform<int>(kTokens / 32, 0.0, kExperts, 80);
    const float* tokens = uniform<float>(kTokens, 0.1, 2.0, 81);
    std::vector<float2> host;
    for (int e = 0; e < kExperts; ++e) {
        for (int s = 0; s < kSteps; ++s) host.push_back(make_float2(factor(e, s), factor(e, s + 5)));
    }
    const float2* factors = upload(host);
    float* out = zeros<float>(kTokens);
    MEASURE(out, kTokens, k<<<kTokens / 256, 256>>>(experts, tokens, factors, out));
}
