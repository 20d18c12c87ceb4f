// /// factors
// title = "Shear of wind profiles with 40 levels"
// kind = "single"
// expect = "A pays alone."
//
// [causes.A]
// bottleneck = "uncoalesced-global-access"
// fix = "Store the wind level by level, so that neighbouring columns are neighbours in memory."
// ///
#include "common.cuh"

constexpr int kColumns = 1 << 21, kLevels = 40;

__device__ size_t place(int column, int level) {
#ifdef FIX_A
    return size_t(level) * kColumns + column;
#else
    return size_t(column) * kLevels + level;
#endif
}

__global__ void __launch_bounds__(256) k(const float* __restrict__ wind, float* __restrict__ shear) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f, below = wind[place(column, 0)];
#pragma unroll 8
    for (int level = 1; level < kLevels; ++level) {
        const float now = wind[place(column, level)];
        sum += fabsf(now - below) / (now + below);
        below = now;
    }
    shear[column] = sum;
}

__global__ void fill_wind(float* wind) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    wind[place(i / kLevels, i % kLevels)] = float(1.0 + unit(i, 73));
}

int main() {
    float* wind = zeros<float>(size_t(kColumns) * kLevels);
    fill_wind<<<kColumns / 256 * kLevels, 256>>>(wind);
    float* shear = zeros<float>(kColumns);
    MEASURE(shear, kColumns, k<<<kColumns / 256, 256>>>(wind, shear));
}
