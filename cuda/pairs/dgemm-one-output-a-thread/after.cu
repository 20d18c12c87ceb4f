// Double-precision matrix product from tiles in shared memory, eight outputs a thread
//
// A value of B is read from shared memory once for eight FMAs. The tiles are the same; an
// eighth of the threads works on them.
//
// /// kernelprof
// kernel = "dgemm"
// block = [32, "32 // ROWS"]
// grid = ["n // 32", "m // 32"]
// reference = "reference:dgemm"
// flops = "2 * m * n * k"
// min_bytes = "8 * (m * k + k * n + m * n)"
//
// [sizes]
// m = 1024
// n = 1024
// k = 1024
//
// [check]
// sizes = { m = 128, n = 192, k = 96 }
// tolerance = 1e-12
//
// [[arguments]]
// name = "a"
// type = "float64"
// shape = ["m", "k"]
//
// [[arguments]]
// name = "b"
// type = "float64"
// shape = ["k", "n"]
//
// [[arguments]]
// name = "c"
// type = "float64"
// shape = ["m", "n"]
// output = true
//
// [[arguments]]
// name = "n"
// type = "int32"
// value = "n"
//
// [[arguments]]
// name = "k"
// type = "int32"
// value = "k"
//
// [compile]
// flags = ["-O3"]
// defines = { ROWS = 8 }
// standard = "c++17"
// ///

constexpr int TILE = 32;
constexpr int LANES_Y = TILE / ROWS;

extern "C" __global__ void __launch_bounds__(TILE* LANES_Y)
    dgemm(const double* __restrict__ a, const double* __restrict__ b, double* __restrict__ c,
          int n, int k) {
    __shared__ double tile_a[TILE][TILE];
    __shared__ double tile_b[TILE][TILE];
    const int column = blockIdx.x * TILE + threadIdx.x;
    const int top = blockIdx.y * TILE;
    double sums[ROWS] = {};
    for (int start = 0; start < k; start += TILE) {
#pragma unroll
        for (int r = 0; r < ROWS; ++r) {
            const int y = threadIdx.y + r * LANES_Y;
            tile_a[y][threadIdx.x] = a[static_cast<size_t>(top + y) * k + start + threadIdx.x];
            tile_b[y][threadIdx.x] = b[static_cast<size_t>(start + y) * n + column];
        }
        __syncthreads();
#pragma unroll
        for (int i = 0; i < TILE; ++i) {
#pragma unroll
            for (int r = 0; r < ROWS; ++r) {
                sums[r] += tile_a[threadIdx.y + r * LANES_Y][i] * tile_b[i][threadIdx.x];
            }
        }
        __syncthreads();
    }
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        c[static_cast<size_t>(top + threadIdx.y + r * LANES_Y) * n + column] = sums[r];
    }
}
