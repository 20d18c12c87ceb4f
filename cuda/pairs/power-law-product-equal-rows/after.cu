// Sparse matrix times vector, as many non-zeros for each block
//
// The kernel is the same; the boundaries that it is given cut the rows where the non-zeros reach
// the next 132nd part.
//
// /// kernelprof
// kernel = "power_law_product"
// block = [1024]
// grid = ["BLOCKS"]
// reference = "reference:product"
// flops = "2 * NONZEROS"
// min_bytes = "8 * NONZEROS + 8 * ROWS + 4 * COLUMNS"
//
// [sizes]
// ROWS = 135168
// COLUMNS = 16384
// NONZEROS = 16777216
// BLOCKS = 132
//
// [check]
// sizes = { ROWS = 4224, COLUMNS = 1024, NONZEROS = 131072, BLOCKS = 132 }
//
// [[arguments]]
// name = "boundaries"
// type = "int32"
// shape = ["BLOCKS + 1"]
// fill = "reference:equal_nonzeros"
//
// [[arguments]]
// name = "offsets"
// type = "int32"
// shape = ["ROWS + 1"]
// fill = "reference:offsets"
//
// [[arguments]]
// name = "columns"
// type = "int32"
// shape = ["NONZEROS"]
// fill = "reference:columns"
//
// [[arguments]]
// name = "values"
// type = "float32"
// shape = ["NONZEROS"]
//
// [[arguments]]
// name = "x"
// type = "float32"
// shape = ["COLUMNS"]
//
// [[arguments]]
// name = "y"
// type = "float32"
// shape = ["ROWS"]
// output = true
//
// [compile]
// flags = ["-O3"]
// standard = "c++17"
// ///

constexpr int lanes_per_row = 8;

extern "C" __global__ void __launch_bounds__(1024)
    power_law_product(const int* __restrict__ boundaries, const int* __restrict__ offsets,
                      const int* __restrict__ columns, const float* __restrict__ values,
                      const float* __restrict__ x, float* __restrict__ y) {
    const int lane = threadIdx.x % lanes_per_row;
    const unsigned mask = 0xffu << (threadIdx.x & 24);
    const int end = boundaries[blockIdx.x + 1];
    for (int row = boundaries[blockIdx.x] + threadIdx.x / lanes_per_row; row < end;
         row += blockDim.x / lanes_per_row) {
        const int last = offsets[row + 1];
        float sum = 0.0f;
#pragma unroll 4
        for (int k = offsets[row] + lane; k < last; k += lanes_per_row) {
            sum += values[k] * x[columns[k]];
        }
        sum += __shfl_xor_sync(mask, sum, 4);
        sum += __shfl_xor_sync(mask, sum, 2);
        sum += __shfl_xor_sync(mask, sum, 1);
        if (lane == 0) {
            y[row] = sum;
        }
    }
}
