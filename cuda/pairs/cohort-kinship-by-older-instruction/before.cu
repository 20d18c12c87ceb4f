// Kinship of two cohorts over their markers, by mma.sync
//
// A block multiplies a tile of 128 x 256 out of a ring of four tiles that cp.async fills, 64
// markers deep; a warp takes 64 x 64 of it by ldmatrix. It is the best that this instruction
// reaches on a chip whose tensor cores are made for another.
//
// /// kernelprof
// kernel = "relate"
// block = [256]
// grid = ["N // 256", "M // 128"]
// reference = "gemm_nt"
// flops = "2 * M * N * K"
// min_bytes = "2 * (M + N) * K + 4 * M * N"
//
// [sizes]
// M = 4224
// N = 4096
// K = 8192
//
// [check]
// sizes = { M = 256, N = 512, K = 576 }
//
// [[arguments]]
// name = "a"
// type = "bfloat16"
// shape = ["M", "K"]
// fill = "normal"
//
// [[arguments]]
// name = "b"
// type = "bfloat16"
// shape = ["N", "K"]
// fill = "normal"
//
// [[arguments]]
// name = "c"
// type = "float32"
// shape = ["M", "N"]
// output = true
//
// [[arguments]]
// name = "n"
// type = "int32"
// value = "N"
//
// [[arguments]]
// name = "k"
// type = "int32"
// value = "K"
//
// [compile]
// flags = ["-O3"]
// standard = "c++17"
//
// [launch]
// shared_bytes = "4 * 1024 * 48"
// ///

#include <cuda_bf16.h>

constexpr int TILE_M = 128;
constexpr int TILE_N = 256;
constexpr int DEPTH = 64;  // 128 bytes a row
constexpr unsigned A_BYTES = TILE_M * DEPTH * 2;
constexpr unsigned STAGE_BYTES = A_BYTES + TILE_N * DEPTH * 2;
constexpr int STAGES = 4;

__device__ __forceinline__ unsigned shared_address(const void* at) {
    return static_cast<unsigned>(__cvta_generic_to_shared(at));
}

__device__ __forceinline__ void copy_16(unsigned to, const void* from) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
}

__device__ __forceinline__ void copies_commit() {
    asm volatile("cp.async.commit_group;" ::: "memory");
}

// Until all groups of this thread's copies but the youngest LEFT have arrived.
template <int LEFT>
__device__ __forceinline__ void copies_wait() {
    asm volatile("cp.async.wait_group %0;" ::"n"(LEFT) : "memory");
}

// Four 8 x 8 matrices; each lane gives the address of a row.
__device__ __forceinline__ void load_matrices(unsigned (&r)[4], unsigned address) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(address)
                 : "memory");
}

// d = a b + d: 16 x 8 from 16 x 16 and 16 x 8.
__device__ __forceinline__ void multiply(float (&d)[4], const unsigned (&a)[4], unsigned b0,
                                         unsigned b1) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Where 16 bytes of a row lie: eight rows in turn meet all banks.
__device__ __forceinline__ unsigned place(int row, int piece) {
    return row * 128 + ((piece ^ row % 8) << 4);
}

// A tile of ROWS x 64 from rows of `stride` values, 16 bytes a copy.
template <int ROWS>
__device__ __forceinline__ void copy_tile(unsigned to, const __nv_bfloat16* from, int stride) {
#pragma unroll
    for (int i = 0; i < ROWS * 8; i += 256) {
        const int row = (i + threadIdx.x) / 8;
        const int piece = threadIdx.x % 8;
        copy_16(to + place(row, piece), from + static_cast<size_t>(row) * stride + piece * 8);
    }
}

// A warp's operands of one step of 16.
struct Operands {
    unsigned left[4][4], right[4][4];

    __device__ __forceinline__ void load(unsigned a, unsigned b, int k) {
        const int lane = threadIdx.x % 32;
        const int warp = threadIdx.x / 32;
        const int row = warp / 4 * 64 + lane % 16;
        const int column = warp % 4 * 64 + lane / 16 * 8 + lane % 8;
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            load_matrices(left[i], a + place(row + i * 16, 2 * k + lane / 16));
            load_matrices(right[i], b + place(column + i * 16, 2 * k + lane / 8 % 2));
        }
    }

    __device__ __forceinline__ void add_product(float (&sum)[4][8][4]) const {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
#pragma unroll
            for (int j = 0; j < 8; ++j) {
                multiply(sum[i][j], left[i], right[j / 2][j % 2 * 2], right[j / 2][j % 2 * 2 + 1]);
            }
        }
    }
};

// c = a b^T.
extern "C" __global__ void __launch_bounds__(256, 1)
    relate(const __nv_bfloat16* __restrict__ a, const __nv_bfloat16* __restrict__ b,
           float* __restrict__ c, int n, int k) {
    extern __shared__ __align__(1024) unsigned char memory[];
    const unsigned tiles = shared_address(memory);
    const __nv_bfloat16* left = a + static_cast<size_t>(blockIdx.y) * TILE_M * k;
    const __nv_bfloat16* right = b + static_cast<size_t>(blockIdx.x) * TILE_N * k;
    const int steps = k / DEPTH;
    float sum[4][8][4] = {};
    for (int step = 0; step < STAGES - 1; ++step) {
        const unsigned to = tiles + step * STAGE_BYTES;
        copy_tile<TILE_M>(to, left + step * DEPTH, k);
        copy_tile<TILE_N>(to + A_BYTES, right + step * DEPTH, k);
        copies_commit();
    }
    copies_wait<STAGES - 2>();
    __syncthreads();
    Operands operands[2];
    operands[0].load(tiles, tiles + A_BYTES, 0);
    for (int step = 0; step < steps; ++step) {
        const unsigned now = tiles + step % STAGES * STAGE_BYTES;
        const int ahead = step + STAGES - 1;
        if (ahead < steps) {
            const unsigned to = tiles + ahead % STAGES * STAGE_BYTES;
            copy_tile<TILE_M>(to, left + ahead * DEPTH, k);
            copy_tile<TILE_N>(to + A_BYTES, right + ahead * DEPTH, k);
        }
        copies_commit();
#pragma unroll
        for (int i = 0; i < DEPTH / 16; ++i) {
            if (i < DEPTH / 16 - 1) {
                operands[(i + 1) % 2].load(now, now + A_BYTES, i + 1);
            } else {
                copies_wait<STAGES - 2>();
                __syncthreads();
                const unsigned next = tiles + (step + 1) % STAGES * STAGE_BYTES;
                operands[0].load(next, next + A_BYTES, 0);
            }
            operands[i % 2].add_product(sum);
        }
    }

    const int warp = threadIdx.x / 32;
    const int lane = threadIdx.x % 32;
    const size_t row = blockIdx.y * TILE_M + warp / 4 * 64 + lane / 4;
    float* to = c + row * n + blockIdx.x * TILE_N + warp % 4 * 64 + lane % 4 * 2;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
#pragma unroll
        for (int j = 0; j < 8; ++j) {
            const float(&four)[4] = sum[i][j];
            float* at = to + static_cast<size_t>(i) * 16 * n + j * 8;
            *reinterpret_cast<float2*>(at) = make_float2(four[0], four[1]);
            *reinterpret_cast<float2*>(at + 8 * static_cast<size_t>(n)) =
                make_float2(four[2], four[3]);
        }
    }
}
