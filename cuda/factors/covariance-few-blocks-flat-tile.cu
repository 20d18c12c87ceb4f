// /// factors
// title = "Covariance of 128 variables over 8192 samples"
// kind = "both pay"
// expect = "16 blocks leave 116 SMs idle, and each block waits for 32-way conflicts."
//
// [causes.A]
// bottleneck = "small-grid"
// fix = "Divide the samples among 16 times as many blocks, which add their parts atomically."
//
// [causes.B]
// bottleneck = "shared-bank-conflicts"
// fix = "Pad the rows of the tiles to 33 floats."
// ///
#include "common.cuh"

constexpr int kVariables = 128, kSamples = 8192, kTile = 32;
#ifdef FIX_A
constexpr int kParts = 16;
#else
constexpr int kParts = 1;
#endif
#ifdef FIX_B
constexpr int kPitch = 33;
#else
constexpr int kPitch = 32;
#endif

__global__ void __launch_bounds__(kTile* kTile) k(const float* samples, float* covariance) {
    __shared__ float a[kTile * kPitch], b[kTile * kPitch];
    const int x = threadIdx.x, y = threadIdx.y;
    const int row = blockIdx.y * kTile, column = blockIdx.x * kTile;
    constexpr int kPart = kSamples / kParts;
    float sum = 0.0f;
    for (int s = blockIdx.z * kPart; s < (int(blockIdx.z) + 1) * kPart; s += kTile) {
        a[y * kPitch + x] = samples[size_t(row + y) * kSamples + s + x];
        b[y * kPitch + x] = samples[size_t(column + y) * kSamples + s + x];
        __syncthreads();
#pragma unroll
        for (int i = 0; i < kTile; ++i) sum += a[y * kPitch + i] * b[x * kPitch + i];
        __syncthreads();
    }
    atomicAdd(covariance + (row + y) * kVariables + column + x, sum / kSamples);
}

int main() {
    float* samples = uniform<float>(size_t(kVariables) * kSamples, 0.0, 1.0, 18);
    float* covariance = zeros<float>(kVariables * kVariables);
    const dim3 grid(kVariables / kTile, kVariables / kTile, kParts), block(kTile, kTile);
    MEASURE(covariance, kVariables * kVariables, k<<<grid, block>>>(samples, covariance));
}
