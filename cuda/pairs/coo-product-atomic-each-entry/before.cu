// Sparse matrix times vector in coordinate form, an atomic for each entry
//
// Entries are sorted by row, so the lanes of a warp mostly add to the same word, and while one of
// the two dense rows is in work all SMs do.
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
    atomicAdd(&y[row], sum);
}
