// /// kernelprof
// kernel = "tma_copy<false>"
// block = [128]
// grid = ["ceil_div(N, 64)", "ceil_div(M, 64)"]
// reference = "copy"
// min_bytes = "4 * M * N"
//
// [sizes]
// M = 4096
// N = 4096
//
// [check]
// sizes = { M = 100, N = 136 }
//
// [[arguments]]
// name = "rows"
// type = "int32"
// value = "M"
//
// [[arguments]]
// name = "map_x"
// tensor_map = { of = "x", box = [64, 64] }
//
// [[arguments]]
// name = "columns"
// type = "int32"
// value = "N"
//
// [[arguments]]
// name = "y"
// type = "bfloat16"
// shape = ["M", "N"]
// output = true
//
// [[arguments]]
// name = "x"
// type = "bfloat16"
// shape = ["M", "N"]
// fill = "normal"
// passed = false
// ///
#include "tma.cuh"

// A matrix is copied tile by tile: in by TMA, out by the threads.
template <bool SWIZZLED>
__global__ void __launch_bounds__(128)
    tma_copy(int rows, const __grid_constant__ CUtensorMap map_x, int columns, __nv_bfloat16* y) {
    __shared__ alignas(1024) __nv_bfloat16 tile[64 * 64];
    __shared__ uint64_t barrier;
    if (threadIdx.x == 0) {
        init_barrier(&barrier);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        expect_bytes(&barrier, sizeof(tile));
        load_box(tile, map_x, blockIdx.x * 64, blockIdx.y * 64, &barrier);
    }
    wait_for(&barrier, 0);
    for (int i = threadIdx.x; i < 64 * 64; i += blockDim.x) {
        const int row = i / 64, column = i % 64;
        // The swizzle exchanges the eight chunks of 16 bytes of a row of 128, by the row.
        const int chunk = SWIZZLED ? (column / 8) ^ (row % 8) : column / 8;
        const int to_row = blockIdx.y * 64 + row, to_column = blockIdx.x * 64 + column;
        if (to_row < rows && to_column < columns) {
            y[to_row * columns + to_column] = tile[row * 64 + chunk * 8 + column % 8];
        }
    }
}
