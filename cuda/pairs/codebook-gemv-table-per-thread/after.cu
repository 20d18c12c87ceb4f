// Matrix times vector, weights are codes into a table that the lanes of a warp share
//
// A lane holds one entry in a register, and a weight is a shuffle.
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
    const float entry = books[row * LEVELS + lane % LEVELS];
    const uchar4* line =
        reinterpret_cast<const uchar4*>(codes + static_cast<size_t>(row) * columns);
    const float4* vector = reinterpret_cast<const float4*>(x);
    float sum = 0.0f;
    for (int k = lane; k < columns / 4; k += 32) {
        const uchar4 code = line[k];
        const float4 value = vector[k];
        sum = fmaf(__shfl_sync(0xffffffffu, entry, code.x), value.x, sum);
        sum = fmaf(__shfl_sync(0xffffffffu, entry, code.y), value.y, sum);
        sum = fmaf(__shfl_sync(0xffffffffu, entry, code.z), value.z, sum);
        sum = fmaf(__shfl_sync(0xffffffffu, entry, code.w), value.w, sum);
    }
    for (int step = 16; step > 0; step /= 2) {
        sum += __shfl_xor_sync(0xffffffffu, sum, step);
    }
    if (lane == 0) {
        y[row] = sum;
    }
}
