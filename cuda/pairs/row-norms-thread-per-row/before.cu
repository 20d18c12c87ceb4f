// Lengths of the rows of a matrix, one thread a row
//
// Neighbouring threads read addresses one row apart, so that a request of a warp touches 32
// sectors. L1 holds them until all 8 floats of each are used, but gives out one at a time.
//
// /// kernelprof
// kernel = "row_norms"
// block = [256]
// grid = ["ceil_div(rows, 256)"]
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
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) {
        return;
    }
    const float* values = matrix + static_cast<size_t>(row) * columns;
    float sum = 0.0f;
    for (int column = 0; column < columns; ++column) {
        sum = fmaf(values[column], values[column], sum);
    }
    norms[row] = sqrtf(sum);
}
