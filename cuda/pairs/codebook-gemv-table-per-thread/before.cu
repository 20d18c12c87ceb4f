// Matrix times vector, weights are codes into a table of 16 values for each row
//
// Each thread has the row's table in an array that it indexes with codes: the array lies in local
// memory, and every weight is a load there, each lane's from another line.
//
// /// kernelprof
// kernel = "gemv_codes"
// block = [32, 8]
// grid = ["rows // 8"]
// reference = "reference:gemv_codes"
// flops = "2 * rows * columns"
// min_bytes = "rows * columns + 64 * rows + 4 * columns + 4 * rows"
//
// [sizes]
// rows = 8192
// columns = 8192
//
// [check]
// sizes = { rows = 512, columns = 1024 }
//
// [[arguments]]
// name = "codes"
// type = "uint8"
// shape = ["rows", "columns"]
//
// [[arguments]]
// name = "books"
// type = "float32"
// shape = ["rows", 16]
//
// [[arguments]]
// name = "x"
// type = "float32"
// shape = ["columns"]
//
// [[arguments]]
// name = "y"
// type = "float32"
// shape = ["rows"]
// output = true
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

constexpr int LEVELS = 16;
constexpr int WARPS = 8;

extern "C" __global__ void gemv_codes(const unsigned char* __restrict__ codes,
                                      const float* __restrict__ books,
                                      const float* __restrict__ x, float* __restrict__ y,
                                      int columns) {
    const int row = blockIdx.x * WARPS + threadIdx.y;
    const int lane = threadIdx.x;
    float book[LEVELS];
#pragma unroll
    for (int k = 0; k < LEVELS; ++k) {
        book[k] = books[row * LEVELS + k];
    }
    const uchar4* line =
        reinterpret_cast<const uchar4*>(codes + static_cast<size_t>(row) * columns);
    const float4* vector = reinterpret_cast<const float4*>(x);
    float sum = 0.0f;
    for (int k = lane; k < columns / 4; k += 32) {
        const uchar4 code = line[k];
        const float4 value = vector[k];
        sum = fmaf(book[code.x], value.x, sum);
        sum = fmaf(book[code.y], value.y, sum);
        sum = fmaf(book[code.z], value.z, sum);
        sum = fmaf(book[code.w], value.w, sum);
    }
    for (int step = 16; step > 0; step /= 2) {
        sum += __shfl_xor_sync(0xffffffffu, sum, step);
    }
    if (lane == 0) {
        y[row] = sum;
    }
}
