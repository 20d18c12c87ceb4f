// /// factors
// title = "Bilateral filter of 8-bit image rows over 17 neighbours"
// kind = "alternatives"
// expect = "Both fixes empty the special function unit; then instructions are the limit in each case."
//
// [causes.A]
// bottleneck = "sfu-throughput"
// fix = "Look the weight of a difference of levels up in a table of 256 in shared memory."
//
// [causes.B]
// bottleneck = "sfu-throughput"
// fix = "Evaluate the weight by eight squarings of a parabola instead of four exponentials."
// ///
#include "common.cuh"

constexpr int kRows = 4096, kColumns = 4096, kReach = 8;

__device__ float weight_of(float difference) {
    const float x = difference * difference * 0.002f;
#ifdef FIX_B
    float base = fmaxf(1.0f - x * (1.0f / 256.0f) + x * x * (1.0f / 131072.0f), 0.0f);
    base *= base;
    base *= base;
    base *= base;
    base *= base;
    base *= base;
    base *= base;
    base *= base;
    return base * base;
#else
    // The mean over four exposures, which differ little.
    return 0.25f * (__expf(-x) + __expf(-1.0001f * x) + __expf(-0.9999f * x) + __expf(-1.00005f * x));
#endif
}

__global__ void __launch_bounds__(256) k(const unsigned char* image, float* out) {
    __shared__ float levels[256 + 2 * kReach];
#ifdef FIX_A
    __shared__ float weights[256];
    weights[threadIdx.x] = weight_of(threadIdx.x);
#endif
    const int column = blockIdx.x * 256 + threadIdx.x, row = blockIdx.y;
    for (int i = threadIdx.x; i < 256 + 2 * kReach; i += 256) {
        const int c = min(max(int(blockIdx.x * 256) + i - kReach, 0), kColumns - 1);
        levels[i] = image[row * kColumns + c];
    }
    __syncthreads();
    const float center = levels[threadIdx.x + kReach];
    float sum = 0.0f, total = 0.0f;
#pragma unroll
    for (int d = 0; d <= 2 * kReach; ++d) {
        const float level = levels[threadIdx.x + d], difference = fabsf(level - center);
#ifdef FIX_A
        const float weight = weights[int(difference)];
#else
        const float weight = weight_of(difference);
#endif
        sum += weight * level;
        total += weight;
    }
    out[row * kColumns + column] = sum / total;
}

// Neighbouring pixels differ by a few levels.
__global__ void fill_image(unsigned char* image) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    image[i] = 100 + i / 64 % 32 + hash32(i) % 24;
}

int main() {
    unsigned char* image = zeros<unsigned char>(size_t(kRows) * kColumns);
    fill_image<<<kRows * kColumns / 256, 256>>>(image);
    float* out = zeros<float>(size_t(kRows) * kColumns);
    MEASURE(out, size_t(kRows) * kColumns, k<<<dim3(kColumns / 256, kRows), 256>>>(image, out));
}
