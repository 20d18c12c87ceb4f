// Free of bank conflicts
//
// Changes: A thread's TM x TN outputs are split into groups of 4 x 4, so that neighbouring lanes
// read neighbouring 16 bytes of B, and a row of A is padded, so that transposing it fills different
// banks.
// Before: shared-bank-conflicts: 40 % of the wavefronts of shared memory repeat others, in a pipe
// that is 85 % busy.
// Sizes: M must be a multiple of BM, N of BN and K of BK. All arrays start at 16 bytes.
//
// /// kernelprof
// kernel = "sgemm_bank_conflict_free"
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
// defines = { BM = 128, BN = 128, BK = 8, TM = 8, TN = 8, MIN_BLOCKS = 1, PAD = 4 }
//
// [launch]
// shared_bytes = "0"
// warmup = 5
// measured = 20
// ///

constexpr int THREADS = BM * BN / (TM * TN);
constexpr int ROW_STEP = 4 * BM / TM;
constexpr int COL_STEP = 4 * BN / TN;
static_assert(BM * BK % (4 * THREADS) == 0 && BK * BN % (4 * THREADS) == 0,
              "threads share the loads evenly");

__device__ __forceinline__ float4 load4(const float* from) {
    return *reinterpret_cast<const float4*>(from);
}

__device__ __forceinline__ void store4(float* to, float4 value) {
    *reinterpret_cast<float4*>(to) = value;
}

extern "C" __global__ void __launch_bounds__(THREADS, MIN_BLOCKS)
sgemm_bank_conflict_free(const float* __restrict__ A, const float* __restrict__ B,
                         float* __restrict__ C, int M, int N, int K) {
    __shared__ alignas(16) float As[BK][BM + PAD];  // As[k][row]
    __shared__ alignas(16) float Bs[BK][BN];

    const int tid = threadIdx.x;
    const int row0 = blockIdx.y * BM;
    const int col0 = blockIdx.x * BN;
    // Of this thread's TM x TN outputs, groups of 4 x 4 lie ROW_STEP rows and COL_STEP columns apart.
    const int row = tid / (BN / TN) * 4;
    const int col = tid % (BN / TN) * 4;

    alignas(16) float sum[TM][TN] = {};
    for (int k0 = 0; k0 < K; k0 += BK) {
        #pragma unroll
        for (int first = 0; first < BM * BK / 4; first += THREADS) {
            const int r = (first + tid) / (BK / 4);
            const int k = (first + tid) % (BK / 4) * 4;
            const float4 v = load4(&A[(row0 + r) * K + k0 + k]);
            As[k + 0][r] = v.x;
            As[k + 1][r] = v.y;
            As[k + 2][r] = v.z;
            As[k + 3][r] = v.w;
        }
        #pragma unroll
        for (int first = 0; first < BK * BN / 4; first += THREADS) {
            const int k = (first + tid) / (BN / 4);
            const int c = (first + tid) % (BN / 4) * 4;
            store4(&Bs[k][c], load4(&B[(k0 + k) * N + col0 + c]));
        }
        __syncthreads();

        #pragma unroll
        for (int k = 0; k < BK; ++k) {
            alignas(16) float a[TM];
            alignas(16) float b[TN];
            #pragma unroll
            for (int i = 0; i < TM; i += 4) {
                store4(&a[i], load4(&As[k][row + i / 4 * ROW_STEP]));
            }
            #pragma unroll
            for (int j = 0; j < TN; j += 4) {
                store4(&b[j], load4(&Bs[k][col + j / 4 * COL_STEP]));
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
        for (int j = 0; j < TN; j += 4) {
            const int r = row + i / 4 * ROW_STEP + i % 4;
            const int c = col + j / 4 * COL_STEP;
            store4(&C[(row0 + r) * N + col0 + c], load4(&sum[i][j]));
        }
    }
}
