// /// factors
// title = "Squared distances of 4096 queries and 4096 references of 128 features"
// kind = "single"
// expect = "A pays alone."
//
// [causes.A]
// bottleneck = "shared-memory-throughput"
// fix = "Compute 4 by 4 results in each thread, so that a value from shared memory is used four times."
// ///
#include "common.cuh"

constexpr int kPoints = 4096, kFeatures = 128, kDepth = 32;
#ifdef FIX_A
constexpr int kEach = 4;
#else
constexpr int kEach = 1;
#endif
constexpr int kBlock = 16 * kEach;

// Both inputs are stored feature by feature.
__global__ void __launch_bounds__(256) k(const float* __restrict__ queries, const float* __restrict__ references,
                                         float* __restrict__ distances) {
    __shared__ float a[kDepth][kBlock], b[kDepth][kBlock];
    const int t = threadIdx.x, x = t % 16, y = t / 16;
    const int row = blockIdx.y * kBlock, column = blockIdx.x * kBlock;
    float sums[kEach][kEach] = {};
    for (int d = 0; d < kFeatures; d += kDepth) {
        for (int e = t; e < kDepth * kBlock; e += 256) {
            a[e / kBlock][e % kBlock] = queries[size_t(d + e / kBlock) * kPoints + row + e % kBlock];
            b[e / kBlock][e % kBlock] = references[size_t(d + e / kBlock) * kPoints + column + e % kBlock];
        }
        __syncthreads();
#pragma unroll
        for (int i = 0; i < kDepth; ++i) {
#pragma unroll
            for (int m = 0; m < kEach; ++m) {
#pragma unroll
                for (int n = 0; n < kEach; ++n) {
                    const float difference = a[i][m * 16 + y] - b[i][n * 16 + x];
                    sums[m][n] += difference * difference;
                }
            }
        }
        __syncthreads();
    }
#pragma unroll
    for (int m = 0; m < kEach; ++m) {
#pragma unroll
        for (int n = 0; n < kEach; ++n) {
            distances[size_t(row + m * 16 + y) * kPoints + column + n * 16 + x] = sums[m][n];
        }
    }
}

int main() {
    const float* queries = uniform<float>(kPoints * kFeatures, 0.0, 1.0, 78);
    const float* references = uniform<float>(kPoints * kFeatures, 0.0, 1.0, 79);
    float* distances = zeros<float>(size_t(kPoints) * kPoints);
    const dim3 grid(kPoints / kBlock, kPoints / kBlock);
    MEASURE(distances, size_t(kPoints) * kPoints, k<<<grid, 256>>>(queries, references, distances));
}
