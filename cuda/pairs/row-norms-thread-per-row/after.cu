// Lengths of the rows of a matrix, one warp a row
//
// The lanes of a warp read 32 neighbouring floats and add up their sums at the end.
//
// /// kernelprof
// kernel = "row_norms"
// block = [256]
// grid = ["ceil_div(rows, 8)"]
// reference = "reference:row_norms"
// flops = "2 * rows * columns"
// min_bytes = "4 * rows * columns + 4 * rows"
//
// [sizes]
// rows = 131072
// columns = 352
//
// [check]
// sizes = { rows = 1000, columns = 352 }
//
// [[arguments]]
// name = "matrix"
// type = "float32"
// shape = ["rows", "columns"]
//
// [[arguments]]
// name = "norms"
// type = "float32"
// shape = ["rows"]
// output = true
//
// [[arguments]]
// name = "rows"
// type = "int32"
// value = "rows"
//
// [[arguments]]
// name = "columns"
// type = "int32"
// value = "columns"
//
// [compile]
// flags = ["-O3"]
// standard = "c++17"
// ///

extern "C" __global__ void row_norms(const float* __restrict__ matrix, float* __restrict__ norms,
                                     int rows, int columns) {
    const int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    const int lane = threadIdx.x % 32;
    if (row >= rows) {
        return;
    }
    const float* values = matrix + static_cast<size_t>(row) * columns;
    float sum = 0.0f;
    for (int column = lane; column < columns; column += 32) {
        sum = fmaf(values[column], values[column], sum);
    }
    for (int step = 16; step > 0; step /= 2) {
        sum += __shfl_xor_sync(0xffffffffu, sum, step);
    }
    if (lane == 0) {
        norms[row] = sqrtf(sum);
    }
}
