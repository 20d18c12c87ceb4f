// Kinship of people by TF32 products, no spilled registers
//
// With 128 registers nothing is spilled, and as many blocks are on an SM as before.
//
// /// kernelprof
// kernel = "kinship"
// block = [256]
// grid = ["N // 128", "M // 128"]
// reference = "gemm_nt"
// flops = "2 * M * N * K"
// min_bytes = "4 * (M * K + N * K + M * N)"
//
// [sizes]
// M = 4096
// N = 4096
// K = 4096
//
// [check]
// sizes = { M = 256, N = 384, K = 256 }
// tolerance = 2e-3
//
// [compile]
// standard = "c++17"
// flags = ["-O3", "--maxrregcount=128"]
//
// [launch]
// shared_bytes = "3 * 32768"
//
// [[arguments]]
// name = "people"
// type = "float32"
// shape = ["M", "K"]
// fill = "normal"
//
// [[arguments]]
// name = "others"
// type = "float32"
// shape = ["N", "K"]
// fill = "normal"
//
// [[arguments]]
// name = "related"
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
// name = "k"
// type = "int32"
// value = "K"
// ///

constexpr int BM = 128;  // people of a block
constexpr int BN = 128;
constexpr int WARP_M = 64;
constexpr int WARP_N = 32;
constexpr int DEPTH = 32;  // markers of a stage, 128 bytes of a row
constexpr int STAGES = 3;
constexpr int STAGE_BYTES = (BM + BN) * 128;
constexpr int THREADS = 256;

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

// Four matrices of eight rows of four values; each lane gives the address of a row.
__device__ void load_matrices(unsigned (&r)[4], const void* row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(shared_address(row))
                 : "memory");
}

__device__ void multiply_add(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Where a chunk of 16 bytes lies in a stage: rows of 128 bytes, eight of them with a chunk in
// different banks.
__device__ int place(int row, int chunk) { return row * 128 + (chunk ^ row % 8) * 16; }

// Products of standardized genotypes. The tensor cores ignore the low bits of a float.
extern "C" __global__ void kinship(const float* __restrict__ people,
                                   const float* __restrict__ others, float* __restrict__ related,
                                   int columns, int k) {
    extern __shared__ __align__(128) unsigned char stages[];
    const int lane = threadIdx.x % 32;
    const int first_m = threadIdx.x / 32 / (BN / WARP_N) * WARP_M;
    const int first_n = threadIdx.x / 32 % (BN / WARP_N) * WARP_N;
    const float* left = people + static_cast<size_t>(blockIdx.y * BM) * k;
    const float* right = others + static_cast<size_t>(blockIdx.x * BN) * k;
    auto load = [&](int i) {
        unsigned char* stage = stages + i % STAGES * STAGE_BYTES;
#pragma unroll
        for (int part = 0; part < (BM + BN) * 8 / THREADS; ++part) {
            const int c = part * THREADS + threadIdx.x;
            const int row = c / 8;
            const float* from = row < BM ? left + static_cast<size_t>(row) * k
                                        : right + static_cast<size_t>(row - BM) * k;
            copy_async(stage + place(row, c % 8), from + i * DEPTH + c % 8 * 4);
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
    const int to_row = blockIdx.y * BM + first_m + lane / 4;
    const int to_column = blockIdx.x * BN + first_n + lane % 4 * 2;
#pragma unroll
    for (int m = 0; m < WARP_M / 16; ++m) {
#pragma unroll
        for (int n = 0; n < WARP_N / 8; ++n) {
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                const size_t row = to_row + m * 16 + half * 8;
                *reinterpret_cast<float2*>(related + row * columns + to_column + n * 8) =
                    make_float2(sum[m][n][2 * half], sum[m][n][2 * half + 1]);
            }
        }
    }
}
