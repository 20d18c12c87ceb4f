// /// factors
// title = "Weighted sums of 16384 rows, which arrive row by row"
// kind = "one alone does not pay"
// expect = "L1 serves seven of eight strided loads of 64 blocks: B alone is slower, and pays with enough blocks."
//
// [causes.A]
// bottleneck = "small-grid"
// fix = "Divide the columns among 64 times as many blocks, which add their parts atomically."
//
// [causes.B]
// bottleneck = "uncoalesced-global-access"
// fix = "Store the matrix by columns, so that neighbouring lanes read neighbouring rows."
// ///
#include "common.cuh"

constexpr int kRows = 16384, kColumns = 4096;
#ifdef FIX_A
constexpr int kParts = 64;
#else
constexpr int kParts = 1;
#endif

__global__ void __launch_bounds__(256) k(const float* matrix, const float* weights, float* sums) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    constexpr int kPart = kColumns / kParts;
    float sum = 0.0f;
#pragma unroll 1
    for (int c = blockIdx.y * kPart; c < (int(blockIdx.y) + 1) * kPart; ++c) {
#ifdef FIX_B
        sum += matrix[size_t(c) * kRows + row] * weights[c];
#else
        sum += matrix[size_t(row) * kColumns + c] * weights[c];
#endif
    }
    atomicAdd(sums + row, sum);
}

// The element of row r and column c is the same in both layouts.
__global__ void fill_matrix(float* matrix) {
    const size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
#ifdef FIX_B
    matrix[i % kColumns * kRows + i / kColumns] = float(unit(i, 37));
#else
    matrix[i] = float(unit(i, 37));
#endif
}

int main() {
    const size_t n = size_t(kRows) * kColumns;
    float* matrix = zeros<float>(n);
    fill_matrix<<<unsigned(n / 256), 256>>>(matrix);
    float* weights = uniform<float>(kColumns, 0.0, 1.0, 38);
    float* sums = zeros<float>(kRows);
    const dim3 grid(kRows / 256, kParts);
    MEASURE(sums, kRows, k<<<grid, 256>>>(matrix, weights, sums));
}
