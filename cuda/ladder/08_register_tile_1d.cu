// 1-D register tile
//
// Changes: A thread computes TM outputs below one another, so that one value of B serves TM FMAs
// from a register.
// Before: shared-memory-throughput: 96 % of what passes L1 are wavefronts of shared memory: every
// FMA reads both operands from there.
// Sizes: M must be a multiple of BM, N of BN and K of BK.
//
// /// kernelprof
// kernel = "sgemm_register_tile_1d"
// block = ["BM * BN // TM"]
// grid = ["ceil_div(N, BN)", "ceil_div(M, BM)"]
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
// defines = { BM = 64, BN = 64, BK = 8, TM = 8 }
//
// [launch]
// shared_bytes = "0"
// warmup = 5
// measured = 20
// ///

constexpr int THREADS = BM * BN / TM;
static_assert(BM * BK == THREADS && BK * BN == THREADS, "each thread loads one element of each tile");

extern "C" __global__ void __launch_bounds__(THREADS)
sgemm_register_tile_1d(const float* __restrict__ A, const float* __restrict__ B,
                       float* __restrict__ C, int M, int N, int K) {
    __shared__ float As[BM][BK];
    __shared__ float Bs[BK][BN];

    const int tid = threadIdx.x;
    const int row0 = blockIdx.y * BM;
    const int col0 = blockIdx.x * BN;
    const int col = tid % BN;         // this thread's column of the block's tile
    const int row = tid / BN * TM;    // the first of its TM rows

    float sum[TM] = {};
    for (int k0 = 0; k0 < K; k0 += BK) {
        As[tid / BK][tid % BK] = A[(row0 + tid / BK) * K + k0 + tid % BK];
        Bs[tid / BN][tid % BN] = B[(k0 + tid / BN) * N + col0 + tid % BN];
        __syncthreads();

        #pragma unroll
        for (int k = 0; k < BK; ++k) {
            const float b = Bs[k][col];
            #pragma unroll
            for (int i = 0; i < TM; ++i) {
                sum[i] += As[row + i][k] * b;
            }
        }
        __syncthreads();
    }

    #pragma unroll
    for (int i = 0; i < TM; ++i) {
        C[(row0 + row + i) * N + col0 + col] = sum[i];
    }
}
