// mma.sync
//
// Changes: A block stages tiles of A and of B in shared memory, and its warps multiply them on the
// tensor cores with mma.sync: a warp computes 64 x 32 outputs and loads fragments 4 bytes at a
// time.
// Before: uncoalesced-global-access: 78 % of the sectors that a warp asks for are waste, nine
// sectors a request, and L1 is 99 % busy moving them; the tensor cores do nothing.
// Sizes: M must be a multiple of BM, N of BN and K of BK. All arrays start at 16 bytes.
//
// /// kernelprof
// kernel = "bf16_mma_sync"
// block = ["32 * (BM // 64) * (BN // 32)"]
// grid = ["N // BN", "M // BM"]
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
// sizes = { M = 256, N = 384, K = 160 }
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
// defines = { BM = 128, BN = 128, BK = 32 }
//
// [launch]
// shared_bytes = "0"
// warmup = 5
// measured = 20
// ///

#include <cuda_bf16.h>

#include <cstdint>

constexpr int THREADS = 32 * (BM / 64) * (BN / 32);
constexpr int ROW = BK + 8;  // 8 values of padding put the rows into different banks

// d[16, 8] += a[16, 16] * b[8, 16]^T; PTX ISA, "Matrix Fragments for mma.m16n8k16".
__device__ __forceinline__ void multiply(float (&d)[4], const uint32_t (&a)[4],
                                         const uint32_t (&b)[2]) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// Copies ROWS x BK values into a tile, 16 bytes a thread.
template <int ROWS>
__device__ __forceinline__ void stage(__nv_bfloat16 (*tile)[ROW], const __nv_bfloat16* from,
                                      int K) {
    #pragma unroll
    for (int at = threadIdx.x; at < ROWS * BK / 8; at += THREADS) {
        const int row = at / (BK / 8);
        const int k = at % (BK / 8) * 8;
        *reinterpret_cast<uint4*>(&tile[row][k]) =
            *reinterpret_cast<const uint4*>(&from[static_cast<size_t>(row) * K + k]);
    }
}

__device__ __forceinline__ uint32_t pair(const __nv_bfloat16* values) {
    return *reinterpret_cast<const uint32_t*>(values);
}

extern "C" __global__ void __launch_bounds__(THREADS)
bf16_mma_sync(const __nv_bfloat16* __restrict__ A, const __nv_bfloat16* __restrict__ B,
              __nv_bfloat16* __restrict__ C, int M, int N, int K) {
    __shared__ alignas(16) __nv_bfloat16 As[BM][ROW];
    __shared__ alignas(16) __nv_bfloat16 Bs[BN][ROW];

    const int row0 = blockIdx.y * BM;
    const int col0 = blockIdx.x * BN;
    const int warp = threadIdx.x / 32;
    const int group = threadIdx.x % 32 / 4;  // the lane's row in a fragment
    const int pair0 = threadIdx.x % 4 * 2;   // and its first of two columns
    const int row = warp / (BN / 32) * 64;
    const int col = warp % (BN / 32) * 32;

    float sum[4][4][4] = {};
    for (int k0 = 0; k0 < K; k0 += BK) {
        stage<BM>(As, A + static_cast<size_t>(row0) * K + k0, K);
        stage<BN>(Bs, B + static_cast<size_t>(col0) * K + k0, K);
        __syncthreads();
        #pragma unroll
        for (int k = 0; k < BK; k += 16) {
            uint32_t a[4][4];
            uint32_t b[4][2];
            #pragma unroll
            for (int i = 0; i < 4; ++i) {
                a[i][0] = pair(&As[row + i * 16 + group][k + pair0]);
                a[i][1] = pair(&As[row + i * 16 + group + 8][k + pair0]);
                a[i][2] = pair(&As[row + i * 16 + group][k + pair0 + 8]);
                a[i][3] = pair(&As[row + i * 16 + group + 8][k + pair0 + 8]);
            }
            #pragma unroll
            for (int j = 0; j < 4; ++j) {
                b[j][0] = pair(&Bs[col + j * 8 + group][k + pair0]);
                b[j][1] = pair(&Bs[col + j * 8 + group][k + pair0 + 8]);
            }
            #pragma unroll
            for (int i = 0; i < 4; ++i) {
                #pragma unroll
                for (int j = 0; j < 4; ++j) {
                    multiply(sum[i][j], a[i], b[j]);
                }
            }
        }
        __syncthreads();
    }

    #pragma unroll
    for (int i = 0; i < 4; ++i) {
        #pragma unroll
        for (int j = 0; j < 4; ++j) {
            #pragma unroll
            for (int half = 0; half < 2; ++half) {
                const size_t r = row0 + row + i * 16 + group + half * 8;
                const int c = col0 + col + j * 8 + pair0;
                *reinterpret_cast<__nv_bfloat162*>(&C[r * N + c]) =
                    __floats2bfloat162_rn(sum[i][j][half * 2], sum[i][j][half * 2 + 1]);
            }
        }
    }
}
