// 2-D register tile
//
// Changes: A thread computes TM x TN outputs, so that TM + TN values serve TM * TN FMAs from
// registers.
// Before: shared-memory-throughput still, with 89 % of what passes L1: a value of A is loaded for
// every FMA.
// Sizes: M must be a multiple of BM, N of BN and K of BK.
//
// /// kernelprof
// kernel = "sgemm_register_tile_2d"
// block = ["BM * BN // (TM * TN)"]
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
// defines = { BM = 128, BN = 128, BK = 8, TM = 8, TN = 8, MIN_BLOCKS = 1 }
//
// [launch]
// shared_bytes = "0"
// warmup = 5
// measured = 20
// ///

constexpr int THREADS = BM * BN / (TM * TN);
static_assert(BM * BK % THREADS == 0 && BK * BN % THREADS == 0, "threads share the loads evenly");

extern "C" __global__ void __launch_bounds__(THREADS, MIN_BLOCKS)
sgemm_register_tile_2d(const float* __restrict__ A, const float* __restrict__ B,
                       float* __restrict__ C, int M, int N, int K) {
    __shared__ float As[BM][BK];
    __shared__ float Bs[BK][BN];

    const int tid = threadIdx.x;
    const int row0 = blockIdx.y * BM;
    const int col0 = blockIdx.x * BN;
    const int row = tid / (BN / TN) * TM;  // this thread's TM x TN corner of the block's tile
    const int col = tid % (BN / TN) * TN;

    float sum[TM][TN] = {};
    for (int k0 = 0; k0 < K; k0 += BK) {
        #pragma unroll
        for (int first = 0; first < BM * BK; first += THREADS) {
            const int i = first + tid;
            As[i / BK][i % BK] = A[(row0 + i / BK) * K + k0 + i % BK];
        }
        #pragma unroll
        for (int first = 0; first < BK * BN; first += THREADS) {
            const int i = first + tid;
            Bs[i / BN][i % BN] = B[(k0 + i / BN) * N + col0 + i % BN];
        }
        __syncthreads();

        #pragma unroll
        for (int k = 0; k < BK; ++k) {
            float a[TM];
            float b[TN];
            #pragma unroll
            for (int i = 0; i < TM; ++i) {
                a[i] = As[row + i][k];
            }
            #pragma unroll
            for (int j = 0; j < TN; ++j) {
                b[j] = Bs[k][col + j];
            }
            #pragma unroll
            for (int i = 0; i < TM; ++i) {
                #pragma unroll
                for (int j = 0; j < TN; ++j) {
                    sum[i][j] += a[i] * b[j];
                }
            }
        }
        __syncthreads();
    }

    #pragma unroll
    for (int i = 0; i < TM; ++i) {
        #pragma unroll
        for (int j = 0; j < TN; ++j) {
            C[(row0 + row + i) * N + col0 + col + j] = sum[i][j];
        }
    }
}
