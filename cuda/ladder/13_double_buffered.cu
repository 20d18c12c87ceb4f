// Double buffered
//
// Changes: Two buffers of shared memory: the next tile is on its way in registers while this one is
// worked on, and one barrier a tile is left. That pays for larger tiles with one block an SM, so
// the sizes are chosen anew; at equal sizes (BM = 256, WM = WN = 64) it makes 1.5x.
// Before: fp32-throughput, not at its limit yet: 90 % of what issues are FMAs, but the pipe is 70 %
// busy; more outputs a thread would need fewer loads, and fewer warps then have nothing to cover a
// tile's arrival.
// Sizes: M must be a multiple of BM, N of BN and K of BK. All arrays start at 16 bytes.
//
// /// kernelprof
// kernel = "sgemm_double_buffered"
// block = ["32 * (BM // WM) * (BN // WN)"]
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
// defines = { BM = 256, BN = 128, BK = 8, WM = 128, WN = 32, TM = 16, TN = 8, PAD = 4, MIN_BLOCKS = 1 }
//
// [launch]
// shared_bytes = "0"
// warmup = 5
// measured = 20
// ///

constexpr int THREADS = 32 * (BM / WM) * (BN / WN);
constexpr int LANE_ROWS = WM / TM;  // how a warp's 32 lanes lie over its WM x WN tile
constexpr int LANE_COLS = WN / TN;
constexpr int ROW_STEP = 4 * LANE_ROWS;
constexpr int COL_STEP = 4 * LANE_COLS;
static_assert(LANE_ROWS * LANE_COLS == 32, "a warp's tile is 32 tiles of a thread");
static_assert(BM * BK % (4 * THREADS) == 0 && BK * BN % (4 * THREADS) == 0,
              "threads share the loads evenly");
constexpr int A_LOADS = BM * BK / 4 / THREADS;
constexpr int B_LOADS = BK * BN / 4 / THREADS;

__device__ __forceinline__ float4 load4(const float* from) {
    return *reinterpret_cast<const float4*>(from);
}

__device__ __forceinline__ void store4(float* to, float4 value) {
    *reinterpret_cast<float4*>(to) = value;
}

extern "C" __global__ void __launch_bounds__(THREADS, MIN_BLOCKS)
sgemm_double_buffered(const float* __restrict__ A, const float* __restrict__ B,
                      float* __restrict__ C, int M, int N, int K) {
    __shared__ alignas(16) float As[2][BK][BM + PAD];  // As[buffer][k][row]
    __shared__ alignas(16) float Bs[2][BK][BN];

    const int tid = threadIdx.x;
    const int row0 = blockIdx.y * BM;
    const int col0 = blockIdx.x * BN;
    const int warp = tid / 32;
    const int lane = tid % 32;
    const int row = warp / (BN / WN) * WM + lane / LANE_COLS * 4;
    const int col = warp % (BN / WN) * WN + lane % LANE_COLS * 4;

    float4 next_a[A_LOADS];
    float4 next_b[B_LOADS];

    const auto fetch = [&](int k0) {
        #pragma unroll
        for (int n = 0; n < A_LOADS; ++n) {
            const int r = (n * THREADS + tid) / (BK / 4);
            const int k = (n * THREADS + tid) % (BK / 4) * 4;
            next_a[n] = load4(&A[(row0 + r) * K + k0 + k]);
        }
        #pragma unroll
        for (int n = 0; n < B_LOADS; ++n) {
            const int k = (n * THREADS + tid) / (BN / 4);
            const int c = (n * THREADS + tid) % (BN / 4) * 4;
            next_b[n] = load4(&B[(k0 + k) * N + col0 + c]);
        }
    };
    const auto keep = [&](int buffer) {
        #pragma unroll
        for (int n = 0; n < A_LOADS; ++n) {
            const int r = (n * THREADS + tid) / (BK / 4);
            const int k = (n * THREADS + tid) % (BK / 4) * 4;
            As[buffer][k + 0][r] = next_a[n].x;
            As[buffer][k + 1][r] = next_a[n].y;
            As[buffer][k + 2][r] = next_a[n].z;
            As[buffer][k + 3][r] = next_a[n].w;
        }
        #pragma unroll
        for (int n = 0; n < B_LOADS; ++n) {
            const int k = (n * THREADS + tid) / (BN / 4);
            const int c = (n * THREADS + tid) % (BN / 4) * 4;
            store4(&Bs[buffer][k][c], next_b[n]);
        }
    };

    alignas(16) float sum[TM][TN] = {};
    int buffer = 0;
    fetch(0);
    keep(buffer);
    __syncthreads();

    for (int k0 = BK;; k0 += BK) {
        const bool more = k0 < K;
        if (more) {
            fetch(k0);  // in flight while the tile at hand is worked on
        }

        #pragma unroll
        for (int k = 0; k < BK; ++k) {
            alignas(16) float a[TM];
            alignas(16) float b[TN];
            #pragma unroll
            for (int i = 0; i < TM; i += 4) {
                store4(&a[i], load4(&As[buffer][k][row + i / 4 * ROW_STEP]));
            }
            #pragma unroll
            for (int j = 0; j < TN; j += 4) {
                store4(&b[j], load4(&Bs[buffer][k][col + j / 4 * COL_STEP]));
            }
            #pragma unroll
            for (int i = 0; i < TM; ++i) {
                #pragma unroll
                for (int j = 0; j < TN; ++j) {
                    sum[i][j] += a[i] * b[j];
                }
            }
        }

        if (!more) {
            break;
        }
        buffer ^= 1;  // nobody reads the other buffer: all left it before the last barrier
        keep(buffer);
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
