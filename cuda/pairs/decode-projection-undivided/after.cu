// Projection of 64 tokens, a cluster for 128 outputs
//
// Eight blocks share the weights of the outputs and add their sums up through distributed shared
// memory.
//
// /// kernelprof
// kernel = "decode"
// block = [256]
// grid = ["N // 128", "PARTS"]
// reference = "gemm_nt"
// flops = "2 * M * N * K"
// min_bytes = "2 * (M * K + N * K) + 4 * M * N"
//
// [sizes]
// M = 64
// N = 2048
// K = 32768
//
// [check]
// sizes = { N = 256, K = 4096 }
// tolerance = 1e-3
//
// [compile]
// standard = "c++17"
// flags = ["-O3"]
// defines = { PARTS = 8 }
//
// [launch]
// shared_bytes = "4 * 24576"
//
// [[arguments]]
// name = "tokens"
// type = "bfloat16"
// shape = ["M", "K"]
//
// [[arguments]]
// name = "weights"
// type = "bfloat16"
// shape = ["N", "K"]
//
// [[arguments]]
// name = "out"
// type = "float32"
// shape = ["M", "N"]
// output = true
//
// [[arguments]]
// name = "columns"
// type = "int32"
// value = "N"
//
// [[arguments]]
// name = "length"
// type = "int32"
// value = "K"
// ///

#include <cooperative_groups.h>
#include <cuda_bf16.h>

constexpr int BM = 64;   // all tokens
constexpr int BN = 128;  // outputs of a block
constexpr int WARP_M = 32;
constexpr int WARP_N = 32;
constexpr int DEPTH = 64;  // of a stage, 128 bytes of a row
constexpr int STAGES = 4;
constexpr int STAGE_BYTES = (BM + BN) * 128;
constexpr int THREADS = 256;
constexpr int PITCH = BN + 4;  // floats of a row of sums

__device__ unsigned shared_address(const void* pointer) {
    return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

__device__ void copy_async(void* to, const void* from) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(to)), "l"(from)
                 : "memory");
}

__device__ void commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }

// Waits until all groups but the last LEFT have arrived.
template <int LEFT>
__device__ void wait_for_groups() {
    asm volatile("cp.async.wait_group %0;" ::"n"(LEFT) : "memory");
}

// Four matrices of eight rows of 16 bytes; each lane gives the address of a row.
__device__ void load_matrices(unsigned (&r)[4], const void* row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(shared_address(row))
                 : "memory");
}

__device__ void multiply_add(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Where a chunk of 16 bytes lies in a stage: rows of 128 bytes, eight of them with a chunk in
// different banks.
__device__ int place(int row, int chunk) { return row * 128 + (chunk ^ row % 8) * 16; }

// The blocks of a cluster have the same outputs and a part each of the products' length.
extern "C" __global__ void __cluster_dims__(1, PARTS, 1) __launch_bounds__(THREADS)
    decode(const __nv_bfloat16* __restrict__ tokens, const __nv_bfloat16* __restrict__ weights,
           float* __restrict__ out, int columns, int length) {
    extern __shared__ __align__(128) unsigned char stages[];
    auto cluster = cooperative_groups::this_cluster();
    const int lane = threadIdx.x % 32;
    const int first_m = threadIdx.x / 32 / (BN / WARP_N) * WARP_M;
    const int first_n = threadIdx.x / 32 % (BN / WARP_N) * WARP_N;
    const int k = length / PARTS;
    const __nv_bfloat16* left = tokens + blockIdx.y * k;
    const __nv_bfloat16* right =
        weights + static_cast<size_t>(blockIdx.x * BN) * length + blockIdx.y * k;
    auto load = [&](int i) {
        unsigned char* stage = stages + i % STAGES * STAGE_BYTES;
#pragma unroll
        for (int part = 0; part < (BM + BN) * 8 / THREADS; ++part) {
            const int c = part * THREADS + threadIdx.x;
            const int row = c / 8;
            const __nv_bfloat16* from = row < BM ? left + static_cast<size_t>(row) * length
                                        : right + static_cast<size_t>(row - BM) * length;
            copy_async(stage + place(row, c % 8), from + i * DEPTH + c % 8 * 8);
        }
    };
    float sum[WARP_M / 16][WARP_N / 8][4] = {};
    const int steps = k / DEPTH;
#pragma unroll
    for (int i = 0; i < STAGES - 1; ++i) {
        if (i < steps) load(i);
        commit();
    }
#pragma unroll 1
    for (int i = 0; i < steps; ++i) {
        wait_for_groups<STAGES - 2>();
        __syncthreads();
        if (i + STAGES - 1 < steps) load(i + STAGES - 1);
        commit();
        const unsigned char* stage = stages + i % STAGES * STAGE_BYTES;
#pragma unroll
        for (int c = 0; c < 8; c += 2) {
            unsigned a[WARP_M / 16][4];
            unsigned b[WARP_N / 16][4];
#pragma unroll
            for (int m = 0; m < WARP_M / 16; ++m) {
                load_matrices(a[m], stage + place(first_m + m * 16 + lane % 16, c + lane / 16));
            }
#pragma unroll
            for (int n = 0; n < WARP_N / 16; ++n) {
                const int row = BM + first_n + n * 16 + lane / 16 * 8 + lane % 8;
                load_matrices(b[n], stage + place(row, c + lane / 8 % 2));
            }
#pragma unroll
            for (int m = 0; m < WARP_M / 16; ++m) {
#pragma unroll
                for (int n = 0; n < WARP_N / 8; ++n) {
                    multiply_add(sum[m][n], a[m], b[n / 2][n % 2 * 2], b[n / 2][n % 2 * 2 + 1]);
                }
            }
        }
    }
    wait_for_groups<0>();
    __syncthreads();
    float* sums = reinterpret_cast<float*>(stages);
#pragma unroll
    for (int m = 0; m < WARP_M / 16; ++m) {
#pragma unroll
        for (int n = 0; n < WARP_N / 8; ++n) {
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                const int row = first_m + m * 16 + half * 8 + lane / 4;
                *reinterpret_cast<float2*>(sums + row * PITCH + first_n + n * 8 + lane % 4 * 2) =
                    make_float2(sum[m][n][2 * half], sum[m][n][2 * half + 1]);
            }
        }
    }
    cluster.sync();
    // Each block adds up some of the rows.
    for (int i = threadIdx.x; i < BM / PARTS * (BN / 4); i += THREADS) {
        const int row = blockIdx.y * (BM / PARTS) + i / (BN / 4);
        const int column = i % (BN / 4) * 4;
        float4 total = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll
        for (int part = 0; part < PARTS; ++part) {
            const float* from = cluster.map_shared_rank(sums, part) + row * PITCH + column;
            const float4 one = *reinterpret_cast<const float4*>(from);
            total.x += one.x;
            total.y += one.y;
            total.z += one.z;
            total.w += one.w;
        }
        *reinterpret_cast<float4*>(out + static_cast<size_t>(row) * columns + blockIdx.x * BN +
                                   column) = total;
    }
    cluster.sync();
}
