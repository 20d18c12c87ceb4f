// /// factors
// title = "Attention output with soft-capped scores, four queries a block"
// kind = "both pay"
// expect = "A takes both exponentials out of the loop over keys, B 15 of 16 barriers."
//
// [causes.A]
// bottleneck = "sfu-throughput"
// fix = "Compute the weight of a key once for all 128 channels and keep it in shared memory."
//
// [causes.B]
// bottleneck = "barrier-stalls"
// fix = "Stage 16 rows of values between two barriers instead of one."
// ///
#include "common.cuh"

constexpr int kQueries = 4096, kKeys = 512, kChannels = 128, kGroup = 4;
#ifdef FIX_B
constexpr int kRows = 16;
#else
constexpr int kRows = 1;
#endif

__device__ float weight_of(float score) {
    const float capped = 30.0f - __fdividef(60.0f, 1.0f + __expf(score * (2.0f / 30.0f)));
    return __expf(capped - 8.0f);
}

__global__ void __launch_bounds__(kChannels * kGroup) k(const float* scores, const float* values, float* out) {
    __shared__ float rows[kRows * kChannels];
    __shared__ float weights[kGroup][kKeys];
    const int channel = threadIdx.x % kChannels, q = threadIdx.x / kChannels;
    const int query = blockIdx.x * kGroup + q;
    for (int key = channel; key < kKeys; key += kChannels) {
        const float score = scores[query * kKeys + key];
#ifdef FIX_A
        weights[q][key] = weight_of(score);
#else
        weights[q][key] = score;
#endif
    }
    float sum = 0.0f, total = 0.0f;
    for (int key = 0; key < kKeys; key += kRows) {
        __syncthreads();
        for (int e = threadIdx.x; e < kRows * kChannels; e += blockDim.x) {
            rows[e] = values[key * kChannels + e];
        }
        __syncthreads();
#pragma unroll
        for (int r = 0; r < kRows; ++r) {
#ifdef FIX_A
            const float weight = weights[q][key + r];
#else
            const float weight = weight_of(weights[q][key + r]);
#endif
            sum += weight * rows[r * kChannels + channel];
            total += weight;
        }
    }
    out[query * kChannels + channel] = sum / total;
}

int main() {
    float* scores = uniform<float>(size_t(kQueries) * kKeys, -9.0, 9.0, 6);
    float* values = uniform<float>(size_t(kKeys) * kChannels, 0.0, 1.0, 7);
    float* out = zeros<float>(size_t(kQueries) * kChannels);
    const int blocks = kQueries / kGroup;
    MEASURE(out, size_t(kQueries) * kChannels, k<<<blocks, kChannels * kGroup>>>(scores, values, out));
}
