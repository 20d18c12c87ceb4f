// /// factors
// title = "Median of 24 exposures of each pixel"
// kind = "both pay"
// expect = "Strided loads and the sorted array in local memory share the L1 data stage."
//
// [causes.A]
// bottleneck = "uncoalesced-global-access"
// fix = "Store the exposures frame by frame, so that neighbouring lanes read neighbouring pixels."
//
// [causes.B]
// bottleneck = "local-memory-traffic"
// fix = "Count ranks in registers with constant indices instead of an insertion sort of an array."
// ///
#include "common.cuh"

constexpr int kPixels = 1 << 20, kFrames = 24;

__device__ float exposure(const float* stack, int pixel, int frame) {
#ifdef FIX_A
    return stack[size_t(frame) * kPixels + pixel];
#else
    return stack[size_t(pixel) * kFrames + frame];
#endif
}

__global__ void __launch_bounds__(256) k(const float* stack, const int* used, float* result) {
    const int pixel = blockIdx.x * blockDim.x + threadIdx.x;
    float values[kFrames];
#ifdef FIX_B
#pragma unroll
    for (int f = 0; f < kFrames; ++f) values[f] = exposure(stack, pixel, f);
    float median = 0.0f;
#pragma unroll
    for (int f = 0; f < kFrames; ++f) {
        int rank = 0;
#pragma unroll
        for (int g = 0; g < kFrames; ++g) {
            rank += values[g] < values[f] || (values[g] == values[f] && g < f);
        }
        if (rank == kFrames / 2) median = values[f];
    }
    result[pixel] = median;
#else
    const int frames = used[0];
    for (int f = 0; f < frames; ++f) {
        const float value = exposure(stack, pixel, f);
        int j = f;
        for (; j > 0 && values[j - 1] > value; --j) values[j] = values[j - 1];
        values[j] = value;
    }
    result[pixel] = values[frames / 2];
#endif
}

int main() {
    const size_t n = size_t(kPixels) * kFrames;
    float* stack = uniform<float>(n, 0.0, 4096.0, 14);
#ifdef FIX_A
    const std::vector<float> host = download(stack, n);
    std::vector<float> frames(n);
    for (size_t i = 0; i < n; ++i) frames[i % kFrames * kPixels + i / kFrames] = host[i];
    stack = upload(frames);
#endif
    const int* used = upload(std::vector<int>{kFrames});
    float* result = zeros<float>(kPixels);
    MEASURE(result, kPixels, k<<<kPixels / 256, 256>>>(stack, used, result));
}
