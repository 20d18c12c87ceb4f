// /// factors
// title = "Residuals of sky frames from the mean of each pixel"
// kind = "both pay"
// expect = "All three fixes take bytes from DRAM: unused masks, a second pass, and residuals in double."
//
// [causes.A]
// bottleneck = "dram-bandwidth"
// fix = "Hold the 64 exposures of a pixel in registers instead of reading the frames again."
//
// [causes.B]
// bottleneck = "uncoalesced-global-access"
// fix = "Read exposures from frames of their own instead of pairs of exposure and mask."
//
// [causes.C]
// bottleneck = "dram-bandwidth"
// fix = "Write the residuals as float instead of double."
// ///
#include "common.cuh"

constexpr int kPixels = 132 * 4096, kFrames = 64;
#ifdef FIX_B
constexpr int kStride = 1;
#else
constexpr int kStride = 2;
#endif
#ifdef FIX_C
using Residual = float;
#else
using Residual = double;
#endif

__global__ void __launch_bounds__(256) k(const float* __restrict__ frames, Residual* __restrict__ residuals) {
    const int pixel = blockIdx.x * blockDim.x + threadIdx.x;
    constexpr size_t kFrame = size_t(kPixels) * kStride;
    const float* exposure = frames + size_t(pixel) * kStride;
    float sum = 0.0f;
#ifdef FIX_A
    float held[kFrames];
#pragma unroll
    for (int f = 0; f < kFrames; ++f) held[f] = exposure[f * kFrame];
#pragma unroll
    for (int f = 0; f < kFrames; ++f) sum += held[f];
#pragma unroll
    for (int f = 0; f < kFrames; ++f) residuals[size_t(f) * kPixels + pixel] = held[f] - sum / kFrames;
#else
#pragma unroll 8
    for (int f = 0; f < kFrames; ++f) sum += exposure[f * kFrame];
#pragma unroll 8
    for (int f = 0; f < kFrames; ++f) {
        residuals[size_t(f) * kPixels + pixel] = exposure[f * kFrame] - sum / kFrames;
    }
#endif
}

int main() {
    const size_t n = size_t(kPixels) * kFrames;
    float* frames = uniform<float>(n, 0.0, 100.0, 21);
#ifndef FIX_B
    const std::vector<float> host = download(frames, n);
    std::vector<float> pairs(2 * n);
    for (size_t i = 0; i < n; ++i) {
        pairs[2 * i] = host[i];
        pairs[2 * i + 1] = float(i & 1);
    }
    frames = upload(pairs);
#endif
    Residual* residuals = zeros<Residual>(n);
    MEASURE(residuals, n, k<<<kPixels / 256, 256>>>(frames, residuals));
}
