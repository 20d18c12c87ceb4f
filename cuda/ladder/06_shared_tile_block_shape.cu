// Shared tile, any block shape
//
// Changes: A block covers BY x BX outputs, no longer a square, and shares the loads of its tiles
// evenly. UNROLL = 1 keeps the inner loop rolled. A variant to compare with, not a step up.
// Before: shared-memory-throughput: 96 % of what passes L1 are wavefronts of shared memory,
// whatever block asks for them.
// Sizes: M must be a multiple of BY, N of BX and K of BK.
//
// /// kernelprof
// kernel = "sgemm_shared_tile_block_shape"
// block = ["BX", "BY"]
// grid = ["ceil_div(N, BX)", "ceil_div(M, BY)"]
// reference = "gemm"
// flops = "2 * M * N * K"
// min_bytes = "4 * (M * K + K * N + M * N)"
//
// [sizes]
// M = 4096
// N = 4096
// K = 4096
//
// [check]
// sizes = { M = 256, N = 512, K = 128 }
// tolerance = 1e-5
//
// [[arguments]]
// name = "A"
// type = "float32"
// shape = ["M", "K"]
// fill = "random"
//
// [[arguments]]
// name = "B"
// type = "float32"
// shape = ["K", "N"]
// fill = "random"
//
// [[arguments]]
// name = "C"
// type = "float32"
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
// defines = { BX = 32, BY = 8, BK = 16, UNROLL = 16 }
//
// [launch]
// shared_bytes = "0"
// warmup = 5
// measured = 20
// ///

constexpr int THREADS = BX * BY;
constexpr int STEPS = UNROLL;  // a macro is not expanded in #pragma unroll

extern "C" __global__ void __launch_bounds__(THREADS)
sgemm_shared_tile_block_shape(const float* __restrict__ A, const float* __restrict__ B,
                              float* __restrict__ C, int M, int N, int K) {
    __shared__ float As[BY][BK];
    __shared__ float Bs[BK][BX];

    const int tx = threadIdx.x;
    const int ty = threadIdx.y;
    const int tid = ty * BX + tx;
    const int row0 = blockIdx.y * BY;
    const int col0 = blockIdx.x * BX;

    float sum = 0.0f;
    for (int k0 = 0; k0 < K; k0 += BK) {
        #pragma unroll
        for (int first = 0; first < BY * BK; first += THREADS) {
            const int i = first + tid;
            if (i < BY * BK) {
                As[i / BK][i % BK] = A[(row0 + i / BK) * K + k0 + i % BK];
            }
        }
        #pragma unroll
        for (int first = 0; first < BK * BX; first += THREADS) {
            const int i = first + tid;
            if (i < BK * BX) {
                Bs[i / BX][i % BX] = B[(k0 + i / BX) * N + col0 + i % BX];
            }
        }
        __syncthreads();

        #pragma unroll STEPS
        for (int k = 0; k < BK; ++k) {
            sum += As[ty][k] * Bs[k][tx];
        }
        __syncthreads();
    }
    C[(row0 + ty) * N + col0 + tx] = sum;
}
