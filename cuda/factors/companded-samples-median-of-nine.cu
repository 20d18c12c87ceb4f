// /// factors
// title = "Expand companded samples by a table of polynomials, then take running medians"
// kind = "both pay"
// expect = "One block an SM does both stages one after the other, so each fix shortens its own stage."
//
// [causes.A]
// bottleneck = "constant-cache"
// fix = "Read the coefficients, whose index differs from lane to lane, from shared memory."
//
// [causes.B]
// bottleneck = "local-memory-traffic"
// fix = "Make the depth of the window a constant, so that the sorted window stays in registers."
// ///
#include "common.cuh"

constexpr int kThreads = 1024, kDepth = 9, kTiles = 8, kBlocks = 1056, kTerms = 8;
constexpr size_t kSamples = size_t(kBlocks) * kTiles * kThreads;

__constant__ float coefficients[256 * kTerms];

__device__ float median(const float* window, int depth) {
    float sorted[16];
#ifdef FIX_B
#pragma unroll
    for (int i = 0; i < kDepth; ++i) sorted[i] = window[i];
#pragma unroll
    for (int i = 0; i < kDepth; ++i) {
#pragma unroll
        for (int j = 0; j + 1 < kDepth - i; ++j) {
            const float low = fminf(sorted[j], sorted[j + 1]);
            sorted[j + 1] = fmaxf(sorted[j], sorted[j + 1]);
            sorted[j] = low;
        }
    }
    return sorted[kDepth / 2];
#else
    for (int i = 0; i < depth; ++i) {
        const float value = window[i];
        int j = i;
        for (; j > 0 && sorted[j - 1] > value; --j) sorted[j] = sorted[j - 1];
        sorted[j] = value;
    }
    return sorted[depth / 2];
#endif
}

__global__ void __launch_bounds__(kThreads, 1) k(const unsigned char* codes, int depth, float* out) {
    __shared__ float samples[kThreads + 16];
#ifdef FIX_A
    extern __shared__ float table[];
    for (int i = threadIdx.x; i < 256 * kTerms; i += kThreads) table[i] = coefficients[i];
    const float* source = table;
#else
    const float* source = coefficients;
#endif
    for (int tile = 0; tile < kTiles; ++tile) {
        const size_t first = (size_t(blockIdx.x) * kTiles + tile) * kThreads;
        __syncthreads();
        const unsigned char code = codes[first + threadIdx.x];
        const float x = (threadIdx.x & 63) * (1.0f / 64.0f);
        float value = 0.0f;
#pragma unroll
        for (int term = 0; term < kTerms; ++term) value = value * x + source[term * 256 + code];
        samples[threadIdx.x] = value;
        if (threadIdx.x < 16) samples[kThreads + threadIdx.x] = 0.0f;
        __syncthreads();
        out[first + threadIdx.x] = median(samples + threadIdx.x, depth);
    }
}

int main() {
    unsigned char* codes = uniform<unsigned char>(kSamples, 0.0, 256.0, 9);
    const float* table = uniform<float>(256 * kTerms, -1.0, 1.0, 10);
    CHECK(cudaMemcpyToSymbol(coefficients, table, 256 * kTerms * sizeof(float), 0, cudaMemcpyDeviceToDevice));
    float* out = zeros<float>(kSamples);
    const int room = 140 << 10;
    CHECK(cudaFuncSetAttribute(k, cudaFuncAttributeMaxDynamicSharedMemorySize, room));
    MEASURE(out, kSamples, k<<<kBlocks, kThreads, room>>>(codes, kDepth, out));
}
