// ldmatrix and a ring of cp.async
//
// Changes: Tiles come by cp.async into a ring of STAGES, swizzled, while older ones are worked on;
// a warp computes 64 x 64 outputs, and loads the next fragments with ldmatrix while it multiplies
// these. As far as mma.sync goes here.
// Before: memory-latency: warps wait 54 % of their time for the next tile, which nobody asked for
// before it was needed; the tensor pipe is 17 % busy.
// Sizes: M must be a multiple of BM, N of BN and K of 64. All arrays start at 16 bytes.
//
// /// kernelprof
// kernel = "bf16_cp_async_ring"
// block = ["32 * (BM // 64) * (BN // 64)"]
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
// sizes = { M = 384, N = 512, K = 320 }
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
// defines = { BM = 128, BN = 128, STAGES = 3, MIN_BLOCKS = 2 }
//
// [launch]
// shared_bytes = "STAGES * (BM + BN) * 128"
// warmup = 5
// measured = 20
// ///

#include <cuda_bf16.h>

#include <cstdint>

constexpr int BK = 64;
constexpr int THREADS = 32 * (BM / 64) * (BN / 64);
constexpr int A_BYTES = BM * BK * 2;
constexpr int B_BYTES = BN * BK * 2;
constexpr int STAGE_BYTES = A_BYTES + B_BYTES;
constexpr int GROUP = 8;  // rows of tiles that are worked on together, so that L2 holds them

__device__ __forceinline__ void multiply(float (&d)[4], const uint32_t (&a)[4],
                                         const uint32_t (&b)[2]) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

__device__ __forceinline__ void load_matrices(uint32_t& d0, uint32_t& d1, uint32_t& d2,
                                              uint32_t& d3, uint32_t from) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(d0), "=r"(d1), "=r"(d2), "=r"(d3)
                 : "r"(from));
}

// Where 16 bytes of a row lie: the rows of 128 bytes are swizzled, so that 8 rows fill all banks.
__device__ __forceinline__ uint32_t place(int row, int chunk) {
    return row * (BK * 2) + ((chunk ^ (row & 7)) << 4);
}

template <int ROWS>
__device__ __forceinline__ void copy(uint32_t tile, const __nv_bfloat16* from, int K) {
    #pragma unroll
    for (int n = 0; n < ROWS * BK / 8 / THREADS; ++n) {
        const int row = (n * THREADS + threadIdx.x) / 8;
        const int chunk = (n * THREADS + threadIdx.x) % 8;
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(tile + place(row, chunk)),
                     "l"(from + static_cast<size_t>(row) * K + chunk * 8)
                     : "memory");
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, MIN_BLOCKS)
bf16_cp_async_ring(const __nv_bfloat16* __restrict__ A, const __nv_bfloat16* __restrict__ B,
                   __nv_bfloat16* __restrict__ C, int M, int N, int K) {
    extern __shared__ __align__(128) uint8_t ring[];
    const uint32_t ring0 = static_cast<uint32_t>(__cvta_generic_to_shared(ring));

    const int columns = gridDim.x;  // of tiles
    const int tile = blockIdx.y * columns + blockIdx.x;
    const int first = tile / (GROUP * columns) * GROUP;
    const int rows = min(GROUP, static_cast<int>(gridDim.y) - first);
    const int row0 = (first + tile % (GROUP * columns) % rows) * BM;
    const int col0 = tile % (GROUP * columns) / rows * BN;

    const int warp = threadIdx.x / 32;
    const int lane = threadIdx.x % 32;
    const int row = warp / (BN / 64) * 64;
    const int col = warp % (BN / 64) * 64;
    const int steps = K / BK;

    const auto fetch = [&](int step) {
        if (step < steps) {
            const uint32_t stage = ring0 + step % STAGES * STAGE_BYTES;
            copy<BM>(stage, A + static_cast<size_t>(row0) * K + step * BK, K);
            copy<BN>(stage + A_BYTES, B + static_cast<size_t>(col0) * K + step * BK, K);
        }
        asm volatile("cp.async.commit_group;" ::: "memory");
    };

    float sum[4][8][4] = {};
    for (int step = 0; step < STAGES - 1; ++step) {
        fetch(step);
    }
    uint32_t a[2][4][4];
    uint32_t b[2][8][2];
    for (int step = 0; step < steps; ++step) {
        asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory");
        __syncthreads();
        fetch(step + STAGES - 1);  // into the stage that all warps left before the barrier
        const uint32_t a_tile = ring0 + step % STAGES * STAGE_BYTES;
        const uint32_t b_tile = a_tile + A_BYTES;
        const auto load = [&](int set, int k) {
            #pragma unroll
            for (int i = 0; i < 4; ++i) {
                load_matrices(a[set][i][0], a[set][i][1], a[set][i][2], a[set][i][3],
                              a_tile + place(row + i * 16 + lane % 16, k + lane / 16));
            }
            #pragma unroll
            for (int j = 0; j < 8; j += 2) {
                load_matrices(
                    b[set][j][0], b[set][j][1], b[set][j + 1][0], b[set][j + 1][1],
                    b_tile + place(col + j * 8 + lane / 16 * 8 + lane % 8, k + lane / 8 % 2));
            }
        };
        load(0, 0);
        #pragma unroll
        for (int k = 0; k < BK / 8; k += 2) {
            if (k + 2 < BK / 8) {
                load((k / 2 + 1) % 2, k + 2);
            }
            #pragma unroll
            for (int i = 0; i < 4; ++i) {
                #pragma unroll
                for (int n = 0; n < 8; ++n) {
                    const int j = i % 2 ? 7 - n : n;  // a neighbour's fragment stays at hand
                    multiply(sum[i][j], a[k / 2 % 2][i], b[k / 2 % 2][j]);
                }
            }
        }
    }

    #pragma unroll
    for (int i = 0; i < 4; ++i) {
        #pragma unroll
        for (int j = 0; j < 8; ++j) {
            #pragma unroll
            for (int half = 0; half < 2; ++half) {
                const size_t r = row0 + row + i * 16 + lane / 4 + half * 8;
                const int c = col0 + col + j * 8 + lane % 4 * 2;
                *reinterpret_cast<__nv_bfloat162*>(&C[r * N + c]) =
                    __floats2bfloat162_rn(sum[i][j][half * 2], sum[i][j][half * 2 + 1]);
            }
        }
    }
}
