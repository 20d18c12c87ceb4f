// Manhattan distances, 8 x 8 a thread
//
// Half of the registers a thread and more warps on an SM. The FP32 pipe was full before.
//
// /// kernelprof
// kernel = "manhattan"
// block = ["16 * (128 // ROWS)"]
// grid = ["N // 128", "M // 128"]
// reference = "reference:manhattan"
// flops = "2 * M * N * K"
// min_bytes = "4 * M * N"
//
// [sizes]
// M = 8448
// N = 4096
// K = 128
//
// [check]
// sizes = { M = 256, N = 128, K = 64 }
//
// [[arguments]]
// name = "a"
// type = "float32"
// shape = ["K", "M"]
//
// [[arguments]]
// name = "b"
// type = "float32"
// shape = ["K", "N"]
//
// [[arguments]]
// name = "d"
// type = "float32"
// shape = ["M", "N"]
// output = true
//
// [[arguments]]
// name = "rows"
// type = "int32"
// value = "M"
//
// [[arguments]]
// name = "columns"
// type = "int32"
// value = "N"
//
// [[arguments]]
// name = "dimensions"
// type = "int32"
// value = "K"
//
// [compile]
// standard = "c++17"
// flags = ["-O3"]
// defines = { ROWS = 8 }
// ///

constexpr int SIDE = 128;   // of a block's tile
constexpr int DEPTH = 32;   // dimensions in shared memory at once
constexpr int THREADS = SIDE / ROWS * (SIDE / 8);

// Manhattan distances between all of two sets of points; a row of the inputs is a dimension. A
// thread has ROWS x 8 of them, in groups of four so that shared reads have no conflicts.
extern "C" __global__ void __launch_bounds__(THREADS, 2)
    manhattan(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ d,
              int rows, int columns, int dimensions) {
    __shared__ float4 a_tile[DEPTH][SIDE / 4];
    __shared__ float4 b_tile[DEPTH][SIDE / 4];
    const int tx = threadIdx.x % 16;
    const int ty = threadIdx.x / 16;
    constexpr int APART = SIDE / (ROWS / 4);
    float sum[ROWS][8] = {};
    for (int start = 0; start < dimensions; start += DEPTH) {
        __syncthreads();
#pragma unroll 4
        for (int k = 0; k < DEPTH * SIDE / 4; k += THREADS) {
            const int depth = (k + threadIdx.x) / (SIDE / 4);
            const int place = threadIdx.x % (SIDE / 4);
            a_tile[depth][place] = reinterpret_cast<const float4*>(
                a + static_cast<size_t>(start + depth) * rows + blockIdx.y * SIDE)[place];
            b_tile[depth][place] = reinterpret_cast<const float4*>(
                b + static_cast<size_t>(start + depth) * columns + blockIdx.x * SIDE)[place];
        }
        __syncthreads();
#pragma unroll 2
        for (int depth = 0; depth < DEPTH; ++depth) {
            float4 left[ROWS / 4], right[2];
#pragma unroll
            for (int r = 0; r < ROWS / 4; ++r) left[r] = a_tile[depth][(r * APART) / 4 + ty];
            right[0] = b_tile[depth][tx];
            right[1] = b_tile[depth][16 + tx];
#pragma unroll
            for (int r = 0; r < ROWS; ++r) {
                const float4 four = left[r / 4];
                const float from = r % 4 == 0   ? four.x
                                   : r % 4 == 1 ? four.y
                                   : r % 4 == 2 ? four.z
                                                : four.w;
#pragma unroll
                for (int c = 0; c < 2; ++c) {
                    sum[r][4 * c] += fabsf(from - right[c].x);
                    sum[r][4 * c + 1] += fabsf(from - right[c].y);
                    sum[r][4 * c + 2] += fabsf(from - right[c].z);
                    sum[r][4 * c + 3] += fabsf(from - right[c].w);
                }
            }
        }
    }
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        const size_t row = blockIdx.y * SIDE + r / 4 * APART + ty * 4 + r % 4;
        float4* to = reinterpret_cast<float4*>(d + row * columns + blockIdx.x * SIDE);
        to[tx] = make_float4(sum[r][0], sum[r][1], sum[r][2], sum[r][3]);
        to[16 + tx] = make_float4(sum[r][4], sum[r][5], sum[r][6], sum[r][7]);
    }
}
