// /// factors
// title = "Matrix product with tiles of 8 by 8 results in registers"
// kind = "healthy"
// limit = "fp32-throughput"
// expect = "FP32 is the limit; double buffering would gain a few per cent."
// ///
#include "common.cuh"

constexpr int kSide = 3072, kBlock = 128, kDepth = 16;

__global__ void __launch_bounds__(256, 2) k(const float* __restrict__ at, const float* __restrict__ b,
                                            float* __restrict__ c) {
    __shared__ __align__(16) float as[2][kDepth][kBlock], bs[2][kDepth][kBlock];
    const int row = blockIdx.y * kBlock, column = blockIdx.x * kBlock, t = threadIdx.x;
    const int y = t / 16, x = t % 16;
    float sums[8][8] = {};
    float4 next_a[2], next_b[2];
    auto fetch = [&](int d) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            const int e = t + 256 * i, r = e / 32, q = e % 32 * 4;
            next_a[i] = *reinterpret_cast<const float4*>(at + size_t(d + r) * kSide + row + q);
            next_b[i] = *reinterpret_cast<const float4*>(b + size_t(d + r) * kSide + column + q);
        }
    };
    auto store = [&](int half) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            const int e = t + 256 * i, r = e / 32, q = e % 32 * 4;
            *reinterpret_cast<float4*>(&as[half][r][q]) = next_a[i];
            *reinterpret_cast<float4*>(&bs[half][r][q]) = next_b[i];
        }
    };
    fetch(0);
    store(0);
    __syncthreads();
    for (int d = 0, half = 0; d < kSide; d += kDepth, half ^= 1) {
        if (d + kDepth < kSide) fetch(d + kDepth);
#pragma unroll
        for (int i = 0; i < kDepth; ++i) {
            float av[8], bv[8];
#pragma unroll
            for (int v = 0; v < 2; ++v) {
                *reinterpret_cast<float4*>(av + 4 * v) = *reinterpret_cast<float4*>(&as[half][i][64 * v + 4 * y]);
                *reinterpret_cast<float4*>(bv + 4 * v) = *reinterpret_cast<float4*>(&bs[half][i][64 * v + 4 * x]);
            }
#pragma unroll
            for (int m = 0; m < 8; ++m) {
#pragma unroll
                for (int n = 0; n < 8; ++n) sums[m][n] += av[m] * bv[n];
            }
        }
        if (d + kDepth < kSide) store(half ^ 1);
        __syncthreads();
    }
#pragma unroll
    for (int m = 0; m < 8; ++m) {
        float* to = c + size_t(row + m / 4 * 64 + 4 * y + m % 4) * kSide + column + 4 * x;
        *reinterpret_cast<float4*>(to) = make_float4(sums[m][0], sums[m][1], sums[m][2], sums[m][3]);
        *reinterpret_cast<float4*>(to + 64) = make_float4(sums[m][4], sums[m][5], sums[m][6], sums[m][7]);
    }
}

int main() {
    const size_t n = size_t(kSide) * kSide;
    const float *at = uniform<float>(n, 0.0, 1.0, 67), *b = uniform<float>(n, 0.0, 1.0, 68);
    float* c = zeros<float>(n);
    MEASURE(c, n, k<<<dim3(kSide / kBlock, kSide / kBlock), 256>>>(at, b, c));
}
