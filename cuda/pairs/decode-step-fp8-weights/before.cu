// Vector times a matrix of FP8 weights, four rows at once for each warp
//
// Each weight is one byte, read once in requests of 512 bytes; a block keeps the vector in shared
// memory for 64 rows. Device memory delivers what has to be read.
//
// /// kernelprof
// kernel = "multiply"
// block = [256]
// grid = ["M // 64"]
// reference = "gemv"
// flops = "2 * M * N"
// min_bytes = "M * N"
//
// [sizes]
// M = 33792
// N = 8192
//
// [check]
// sizes = { M = 256 }
// tolerance = 1e-4
//
// [compile]
// standard = "c++17"
// flags = ["-O3"]
//
// [[arguments]]
// name = "weights"
// type = "float8_e4m3"
// shape = ["M", "N"]
// fill = "normal"
//
// [[arguments]]
// name = "x"
// type = "float32"
// shape = ["N"]
//
// [[arguments]]
// name = "y"
// type = "float32"
// shape = ["M"]
// output = true
// ///

#include <cuda_fp16.h>
#include <cuda_fp8.h>

constexpr int COLUMNS = 8192;
constexpr int CHUNKS = COLUMNS / 16;  // of a row, 16 weights each
constexpr int ROWS = 4;               // of a warp at once
constexpr int BLOCK_ROWS = 64;

// The products of two weights with two values.
__device__ float two(unsigned short weights, float low, float high) {
    const __half2 halves(__nv_cvt_fp8x2_to_halfraw2(weights, __NV_E4M3));
    const float2 w = __half22float2(halves);
    return w.x * low + w.y * high;
}

__device__ float four(unsigned weights, float4 x) {
    return two(weights & 0xffffu, x.x, x.y) + two(weights >> 16, x.z, x.w);
}

extern "C" __global__ void __launch_bounds__(256, 4)
    multiply(const uint4* __restrict__ weights, const float4* __restrict__ x,
             float* __restrict__ y) {
    // The four quarters of all chunks one after the other, so that neighbours have neighbours.
    __shared__ float4 vector[4][CHUNKS];
    for (int i = threadIdx.x; i < 4 * CHUNKS; i += 256) vector[i % 4][i / 4] = x[i];
    __syncthreads();
    const int lane = threadIdx.x % 32;
    const int first = blockIdx.x * BLOCK_ROWS + threadIdx.x / 32 * (BLOCK_ROWS / 8);
#pragma unroll 1
    for (int row = first; row < first + BLOCK_ROWS / 8; row += ROWS) {
        const uint4* from = weights + static_cast<size_t>(row) * CHUNKS + lane;
        float sum[ROWS] = {};
#pragma unroll 2
        for (int c = 0; c < CHUNKS; c += 32) {
            uint4 w[ROWS];
#pragma unroll
            for (int r = 0; r < ROWS; ++r) w[r] = __ldcs(from + r * CHUNKS + c);
            const float4 a = vector[0][c + lane];
            const float4 b = vector[1][c + lane];
            const float4 d = vector[2][c + lane];
            const float4 e = vector[3][c + lane];
#pragma unroll
            for (int r = 0; r < ROWS; ++r) {
                sum[r] += (four(w[r].x, a) + four(w[r].y, b)) + (four(w[r].z, d) + four(w[r].w, e));
            }
        }
#pragma unroll
        for (int r = 0; r < ROWS; ++r) {
#pragma unroll
            for (int other = 16; other > 0; other /= 2) {
                sum[r] += __shfl_xor_sync(~0u, sum[r], other);
            }
            if (lane == 0) y[row + r] = sum[r];
        }
    }
}
