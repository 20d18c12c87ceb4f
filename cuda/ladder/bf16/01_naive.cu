// One output a thread
//
// Changes: Nothing yet: one thread computes one output from global memory, with threadIdx.x along
// the columns of C, so that a warp reads 32 rows of B at once.
// Sizes: Any M, N and K.
//
// /// kernelprof
// kernel = "bf16_naive"
// block = ["BLOCK", "BLOCK"]
// grid = ["ceil_div(N, BLOCK)", "ceil_div(M, BLOCK)"]
// reference = "gemm_nt"
// flops = "2 * M * N * K"
// min_bytes = "2 * (M * K + N * K + M * N)"
//
// [sizes]
// M = 8192
// N = 8192
// K = 8192
//
// [check]
// sizes = { M = 250, N = 390, K = 130 }
// tolerance = 4e-3
//
// [[arguments]]
// name = "A"
// type = "bfloat16"
// shape = ["M", "K"]
// fill = "random"
//
// [[arguments]]
// name = "B"
// type = "bfloat16"
// shape = ["N", "K"]
// fill = "random"
//
// [[arguments]]
// name = "C"
// type = "bfloat16"
// shape = ["M", "N"]
// output = true
//
// [[arguments]]
// name = "M"
// type = "int32"
// value = "M"
//
// [[arguments]]
// name = "N"
// type = "int32"
// value = "N"
//
// [[arguments]]
// name = "K"
// type = "int32"
// value = "K"
//
// [compile]
// flags = ["-O3"]
// defines = { BLOCK = 32 }
//
// [launch]
// shared_bytes = "0"
// warmup = 1
// measured = 6
// ///

#include <cuda_bf16.h>

extern "C" __global__ void bf16_naive(const __nv_bfloat16* __restrict__ A,
                                      const __nv_bfloat16* __restrict__ B,
                                      __nv_bfloat16* __restrict__ C, int M, int N, int K) {
    const int row = blockIdx.y * BLOCK + threadIdx.y;
    const int col = blockIdx.x * BLOCK + threadIdx.x;
    if (row >= M || col >= N) {
        return;
    }
    float sum = 0.0f;
    for (int k = 0; k < K; ++k) {
        sum += __bfloat162float(A[row * K + k]) * __bfloat162float(B[col * K + k]);
    }
    C[row * N + col] = __float2bfloat16(sum);
}
