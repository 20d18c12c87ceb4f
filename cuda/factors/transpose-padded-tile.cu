// /// factors
// title = "Transposition of a matrix through a padded tile"
// kind = "healthy"
// limit = "dram-bandwidth"
// expect = "Coalesced on both sides and free of conflicts: DRAM is the limit."
// ///
#include "common.cuh"

constexpr int kSide = 8192;

__global__ void __launch_bounds__(256) k(const float* __restrict__ in, float* __restrict__ out) {
    __shared__ float tile[32][33];
    const int row = blockIdx.y * 32, column = blockIdx.x * 32, x = threadIdx.x % 32, y = threadIdx.x / 32;
#pragma unroll
    for (int r = 0; r < 32; r += 8) tile[y + r][x] = in[size_t(row + y + r) * kSide + column + x];
    __syncthreads();
#pragma unroll
    for (int r = 0; r < 32; r += 8) out[size_t(column + y + r) * kSide + row + x] = tile[x][y + r];
}

int main() {
    const size_t n = size_t(kSide) * kSide;
    float* in = uniform<float>(n, -1.0, 1.0, 69);
    float* out = zeros<float>(n);
    MEASURE(out, n, k<<<dim3(kSide / 32, kSide / 32), 256>>>(in, out));
}
