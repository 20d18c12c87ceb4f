// Sparse matrix times vector in coordinate form, an atomic for each row of a warp
//
// Lanes of the same row stand side by side: a segmented sum by shuffles leaves one addition for
// each row that the warp meets.
//
// /// kernelprof
// kernel = "coo_product"
// block = [256]
// grid = ["ceil_div(2 * N + 16 * (N - 2), 256)"]
// reference = "reference:product"
// flops = "2 * (2 * N + 16 * (N - 2))"
// min_bytes = "12 * (2 * N + 16 * (N - 2)) + 8 * N"
//
// [sizes]
// N = 262144
//
// [check]
// sizes = { N = 8192 }
//
// [[arguments]]
// name = "rows"
// type = "int32"
// shape = ["2 * N + 16 * (N - 2)"]
// fill = "reference:rows"
//
// [[arguments]]
// name = "columns"
// type = "int32"
// shape = ["2 * N + 16 * (N - 2)"]
// fill = "reference:columns"
//
// [[arguments]]
// name = "values"
// type = "float32"
// shape = ["2 * N + 16 * (N - 2)"]
//
// [[arguments]]
// name = "x"
// type = "float32"
// shape = ["N"]
//
// [[arguments]]
// name = "y"
// type = "float32"
// shape = ["N"]
// fill = "zeros"
// output = true
//
// [[arguments]]
// name = "entries"
// type = "int32"
// value = "2 * N + 16 * (N - 2)"
//
// [compile]
// flags = ["-O3"]
// standard = "c++17"
// ///

// The entries are a multiple of 32.
extern "C" __global__ void coo_product(const int* __restrict__ rows,
                                       const int* __restrict__ columns,
                                       const float* __restrict__ values,
                                       const float* __restrict__ x, float* y, int entries) {
    const int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= entries) {
        return;
    }
    const int row = rows[k];
    float sum = values[k] * x[columns[k]];
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
        const float later = __shfl_down_sync(~0u, sum, step);
        const int later_row = __shfl_down_sync(~0u, row, step);
        if (lane + step < 32 && later_row == row) {
            sum += later;
        }
    }
    const int row_before = __shfl_up_sync(~0u, row, 1);
    if (lane == 0 || row_before != row) {
        atomicAdd(&y[row], sum);
    }
}
