// Mean, deviation and range of each column, one pass over the table for each
//
// A block owns 32 columns and reads each row's 128 bytes in order. All blocks together read
// 256 MB before they come back for the next statistic, so each pass comes from device memory.
//
// /// kernelprof
// kernel = "column_statistics"
// block = [32, 32]
// grid = ["columns // 32"]
// reference = "reference:column_statistics"
// min_bytes = "4 * (rows * columns + 4 * columns)"
//
// [sizes]
// rows = 8192
// columns = 8192
//
// [check]
// sizes = { rows = 1024, columns = 256 }
//
// [[arguments]]
// name = "table"
// type = "float32"
// shape = ["rows", "columns"]
//
// [[arguments]]
// name = "mean"
// type = "float32"
// shape = ["columns"]
// output = true
//
// [[arguments]]
// name = "deviation"
// type = "float32"
// shape = ["columns"]
// output = true
//
// [[arguments]]
// name = "lowest"
// type = "float32"
// shape = ["columns"]
// output = true
//
// [[arguments]]
// name = "highest"
// type = "float32"
// shape = ["columns"]
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

constexpr int LANES = 32;  // columns of a block
constexpr int PARTS = 32;  // threads that share a column

// Combines what the threads of a column hold; each of them gets the result.
template <typename Combine>
__device__ float over_column(float value, float (*scratch)[LANES + 1], Combine combine) {
    __syncthreads();
    scratch[threadIdx.y][threadIdx.x] = value;
    __syncthreads();
    value = scratch[threadIdx.x][threadIdx.y];
    for (int apart = 16; apart > 0; apart /= 2) {
        value = combine(value, __shfl_xor_sync(0xffffffffu, value, apart));
    }
    __syncthreads();
    if (threadIdx.x == 0) scratch[0][threadIdx.y] = value;
    __syncthreads();
    return scratch[0][threadIdx.x];
}

extern "C" __global__ void __launch_bounds__(1024, 2)
    column_statistics(const float* __restrict__ table, float* __restrict__ mean,
                      float* __restrict__ deviation, float* __restrict__ lowest,
                      float* __restrict__ highest, int rows, int columns) {
    __shared__ float scratch[PARTS][LANES + 1];
    const int column = blockIdx.x * LANES + threadIdx.x;
    const auto add = [](float a, float b) { return a + b; };
    const auto least = [](float a, float b) { return fminf(a, b); };
    const auto most = [](float a, float b) { return fmaxf(a, b); };

    float sum = 0.0f;
#pragma unroll 8
    for (int row = threadIdx.y; row < rows; row += PARTS) {
        sum += table[static_cast<size_t>(row) * columns + column];
    }
    const float average = over_column(sum, scratch, add) / rows;

    float squares = 0.0f;
#pragma unroll 8
    for (int row = threadIdx.y; row < rows; row += PARTS) {
        const float off = table[static_cast<size_t>(row) * columns + column] - average;
        squares += off * off;
    }
    const float variance = over_column(squares, scratch, add) / rows;

    float low = INFINITY;
    float high = -INFINITY;
#pragma unroll 8
    for (int row = threadIdx.y; row < rows; row += PARTS) {
        const float value = table[static_cast<size_t>(row) * columns + column];
        low = fminf(low, value);
        high = fmaxf(high, value);
    }
    low = over_column(low, scratch, least);
    high = over_column(high, scratch, most);

    if (threadIdx.y == 0) {
        mean[column] = average;
        deviation[column] = sqrtf(variance);
        lowest[column] = low;
        highest[column] = high;
    }
}
