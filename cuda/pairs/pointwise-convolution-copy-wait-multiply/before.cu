// Pointwise convolution of an image, one tile in shared memory
//
// A block multiplies a tile of 128 pixels x 256 channels by mma.sync, 32 deep at a time: it asks
// for both operands by cp.async, waits for them, multiplies, and asks for the next ones when all
// are done.
//
// /// kernelprof
// kernel = "convolve"
// block = [256]
// grid = ["OUT // 256", "PIXELS // 128"]
// reference = "reference:convolve"
// flops = "2 * PIXELS * IN * OUT"
// min_bytes = "2 * PIXELS * IN + 2 * OUT * IN + 4 * PIXELS * OUT"
//
// [sizes]
// PIXELS = 65536
// IN = 1024
// OUT = 512
//
// [check]
// sizes = { PIXELS = 256, IN = 224, OUT = 512 }
//
// [[arguments]]
// name = "image"
// type = "float16"
// shape = ["PIXELS", "IN"]
// fill = "normal"
//
// [[arguments]]
// name = "filters"
// type = "float16"
// shape = ["OUT", "IN"]
// fill = "normal"
//
// [[arguments]]
// name = "result"
// type = "float32"
// shape = ["PIXELS", "OUT"]
// output = true
//
// [[arguments]]
// name = "in_channels"
// type = "int32"
// value = "IN"
//
// [[arguments]]
// name = "out_channels"
// type = "int32"
// value = "OUT"
//
// [compile]
// flags = ["-O3"]
// standard = "c++17"
//
// [launch]
// shared_bytes = "24 * 1024"
// ///

#include <cuda_fp16.h>

constexpr int TILE_M = 128;
constexpr int TILE_N = 256;
constexpr int DEPTH = 32;  // 64 bytes a row
constexpr unsigned A_BYTES = TILE_M * DEPTH * 2;

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
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Where 16 bytes of a row lie: eight rows in turn meet all banks.
__device__ __forceinline__ unsigned place(int row, int piece) {
    return row * 64 + ((piece ^ (row / 2 % 4)) << 4);
}

// A tile of ROWS x 32 from rows of `stride` values, 16 bytes a copy.
template <int ROWS>
__device__ __forceinline__ void copy_tile(unsigned to, const __half* from, int stride) {
#pragma unroll
    for (int i = 0; i < ROWS * 4; i += 256) {
        const int row = (i + threadIdx.x) / 4;
        const int piece = threadIdx.x % 4;
        copy_16(to + place(row, piece), from + static_cast<size_t>(row) * stride + piece * 8);
    }
}

// Adds the product of two tiles to a warp's 64 x 64 sums.
__device__ __forceinline__ void multiply_tiles(float (&sum)[4][8][4], unsigned a, unsigned b,
                                               int first_row, int first_column) {
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int k = 0; k < DEPTH / 16; ++k) {
        unsigned left[4][4], right[4][4];
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            load_matrices(left[i], a + place(first_row + i * 16 + lane % 16, 2 * k + lane / 16));
            load_matrices(right[i], b + place(first_column + i * 16 + lane / 16 * 8 + lane % 8,
                                              2 * k + lane / 8 % 2));
        }
#pragma unroll
        for (int i = 0; i < 4; ++i) {
#pragma unroll
            for (int j = 0; j < 8; ++j) {
                multiply(sum[i][j], left[i], right[j / 2][j % 2 * 2], right[j / 2][j % 2 * 2 + 1]);
            }
        }
    }
}

// result = image filters^T, for each pixel.
extern "C" __global__ void __launch_bounds__(256, 1)
    convolve(const __half* __restrict__ image, const __half* __restrict__ filters,
             float* __restrict__ result, int in_channels, int out_channels) {
    extern __shared__ __align__(1024) unsigned char memory[];
    const int warp = threadIdx.x / 32;
    const int lane = threadIdx.x % 32;
    const __half* left = image + static_cast<size_t>(blockIdx.y) * TILE_M * in_channels;
    const __half* right = filters + static_cast<size_t>(blockIdx.x) * TILE_N * in_channels;
    const int steps = in_channels / DEPTH;
    float sum[4][8][4] = {};
    const unsigned a = shared_address(memory);
    for (int step = 0; step < steps; ++step) {
        copy_tile<TILE_M>(a, left + step * DEPTH, in_channels);
        copy_tile<TILE_N>(a + A_BYTES, right + step * DEPTH, in_channels);
        copies_commit();
        copies_wait<0>();
        __syncthreads();
        multiply_tiles(sum, a, a + A_BYTES, warp / 4 * 64, warp % 4 * 64);
        __syncthreads();
    }

    const size_t row = blockIdx.y * TILE_M + warp / 4 * 64 + lane / 4;
    float* to = result + row * out_channels + blockIdx.x * TILE_N + warp % 4 * 64 + lane % 4 * 2;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
#pragma unroll
        for (int j = 0; j < 8; ++j) {
            const float(&four)[4] = sum[i][j];
            float* at = to + static_cast<size_t>(i) * 16 * out_channels + j * 8;
            *reinterpret_cast<float2*>(at) = make_float2(four[0], four[1]);
            *reinterpret_cast<float2*>(at + 8 * static_cast<size_t>(out_channels)) =
                make_float2(four[2], four[3]);
        }
    }
}
