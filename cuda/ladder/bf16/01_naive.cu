// Naive
//
// Changes: Nothing yet: one thread computes one output from global memory, on the CUDA cores, with
// threadIdx.x along the columns of C, so that a warp reads 16 rows of B at once.
// Sizes: M and N must be multiples of 16.
//
// /// kernelprof
// kernel = "bf16_naive"
// block = [16, 16]
// grid = ["N // 16", "M // 16"]
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
// sizes = { M = 128, N = 144, K = 96 }
//
// [[arguments]]
// name = "A"
// type = "bfloat16"
// shape = ["M", "K"]
// fill = "normal"
//
// [[arguments]]
// name = "B"
// type = "bfloat16"
// shape = ["N", "K"]
// fill = "normal"
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
// standard = "c++17"
//
// [launch]
// shared_bytes = "0"
// warmup = 1
// measured = 3
// ///

#include <cuda_bf16.h>

extern "C" __global__ void __launch_bounds__(256)
bf16_naive(const __nv_bfloat16* __restrict__ A, const __nv_bfloat16* __restrict__ B,
           __nv_bfloat16* __restrict__ C, int M, int N, int K) {
    const int row = blockIdx.y * 16 + threadIdx.y;
    const int col = blockIdx.x * 16 + threadIdx.x;
    float sum = 0.0f;
    for (int k = 0; k < K; ++k) {
        sum += __bfloat162float(A[static_cast<size_t>(row) * K + k]) *
               __bfloat162float(B[static_cast<size_t>(col) * K + k]);
    }
    C[static_cast<size_t>(row) * N + col] = __float2bfloat16(sum);
}
