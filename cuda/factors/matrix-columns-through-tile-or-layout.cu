// /// factors
// title = "Scaled transposition of a matrix"
// kind = "alternatives"
// expect = "A tile in shared memory and a column-major input each coalesce all accesses; both together add nothing."
//
// [causes.A]
// bottleneck = "uncoalesced-global-access"
// fix = "Exchange rows and columns through a padded tile in shared memory."
//
// [causes.B]
// bottleneck = "uncoalesced-global-access"
// fix = "Let the producer store the matrix by columns, so that it is read as it is written."
// ///
#include "common.cuh"

constexpr int kSide = 8192, kTile = 32, kRows = 8;

// The element of row r and column c of the input.
__device__ size_t input(int r, int c) {
#ifdef FIX_B
    return size_t(c) * kSide + r;
#else
    return size_t(r) * kSide + c;
#endif
}

__global__ void __launch_bounds__(kTile* kRows) k(const float* in, const float* scales, float* out) {
    const int row = blockIdx.y * kTile, column = blockIdx.x * kTile, x = threadIdx.x;
#if defined(FIX_A) && !defined(FIX_B)
    __shared__ float tile[kTile][kTile + 1];
    for (int y = threadIdx.y; y < kTile; y += kRows) tile[y][x] = in[input(column + y, row + x)];
    __syncthreads();
    for (int y = threadIdx.y; y < kTile; y += kRows) {
        out[size_t(row + y) * kSide + column + x] = tile[x][y] * scales[row + y];
    }
#else
    for (int y = threadIdx.y; y < kTile; y += kRows) {
        out[size_t(row + y) * kSide + column + x] = in[input(column + x, row + y)] * scales[row + y];
    }
#endif
}

__global__ void fill_matrix(float* matrix) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    matrix[input(i / kSide, i % kSide)] = float(unit(i, 55));
}

int main() {
    const size_t n = size_t(kSide) * kSide;
    float* in = zeros<float>(n);
    fill_matrix<<<unsigned(n / 256), 256>>>(in);
    float* scales = uniform<float>(kSide, 0.5, 1.5, 56);
    float* out = zeros<float>(n);
    MEASURE(out, n, k<<<dim3(kSide / kTile, kSide / kTile), dim3(kTile, kRows)>>>(in, scales, out));
}
