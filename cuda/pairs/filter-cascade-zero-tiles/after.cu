// 64 equal filters in a row over frames of 64 samples, as products with a matrix's band
//
// A filter of 16 taps is a band in a 64 x 64 matrix. Each warp carries 16 frames in registers, with
// the matrix beside them, and multiplies the 14 of its 32 tiles that the band touches.
//
// /// kernelprof
// kernel = "cascade"
// block = [128]
// grid = ["frames // 64"]
// reference = "reference:cascade"
//
// [sizes]
// frames = 262144
// filters = 64
//
// [check]
// sizes = { frames = 1024 }
// tolerance = 1e-2
//
// [[arguments]]
// name = "band"
// type = "float16"
// shape = ["64", "64"]
// fill = "reference:band"
//
// [[arguments]]
// name = "signal"
// type = "float16"
// shape = ["frames", "64"]
//
// [[arguments]]
// name = "out"
// type = "float16"
// shape = ["frames", "64"]
// output = true
//
// [[arguments]]
// name = "filters"
// type = "int32"
// value = "filters"
//
// [compile]
// flags = ["-O3"]
// standard = "c++17"
// ///

#include <cuda_fp16.h>

constexpr int kFrame = 64;
constexpr int kParts = kFrame / 16;  // tiles of 16 rows
constexpr int kTiles = kFrame / 8;   // and 8 columns
constexpr int kTaps = 16;

__device__ __forceinline__ unsigned pack(float low, float high) {
    const __half2 two = __floats2half2_rn(low, high);
    return *reinterpret_cast<const unsigned*>(&two);
}

__device__ __forceinline__ unsigned pack(__half low, __half high) {
    const __half2 two = __halves2half2(low, high);
    return *reinterpret_cast<const unsigned*>(&two);
}

__device__ __forceinline__ void multiply(float (&sum)[4], const unsigned (&a)[4],
                                         const unsigned (&b)[2]) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// Whether a tile of the band matrix has to be multiplied.
__device__ constexpr bool needed(int part, int tile) {
    return tile * 8 + 7 >= part * 16 && tile * 8 < part * 16 + 15 + kTaps;
}

extern "C" __global__ void __launch_bounds__(128)
    cascade(const __half* __restrict__ band, const __half* __restrict__ signal,
            __half* __restrict__ out, int filters) {
    const int row = threadIdx.x % 32 / 4;
    const int pair = threadIdx.x % 4 * 2;
    const size_t first = static_cast<size_t>(blockIdx.x) * 64 + threadIdx.x / 32 * 16 + row;

    unsigned m[kParts][kTiles][2];
#pragma unroll
    for (int k = 0; k < kParts; ++k) {
#pragma unroll
        for (int n = 0; n < kTiles; ++n) {
            if (!needed(k, n)) continue;
            const __half* from = band + (k * 16 + pair) * kFrame + n * 8 + row;
            m[k][n][0] = pack(from[0], from[kFrame]);
            m[k][n][1] = pack(from[8 * kFrame], from[9 * kFrame]);
        }
    }
    unsigned x[kParts][4];
#pragma unroll
    for (int k = 0; k < kParts; ++k) {
#pragma unroll
        for (int q = 0; q < 4; ++q) {
            const __half* from = signal + (first + q % 2 * 8) * kFrame + k * 16 + q / 2 * 8 + pair;
            x[k][q] = *reinterpret_cast<const unsigned*>(from);
        }
    }

#pragma unroll 1
    for (int filter = 0; filter < filters; ++filter) {
        float sum[kTiles][4] = {};
#pragma unroll
        for (int k = 0; k < kParts; ++k) {
#pragma unroll
            for (int n = 0; n < kTiles; ++n) {
                if (needed(k, n)) multiply(sum[n], x[k], m[k][n]);
            }
        }
#pragma unroll
        for (int k = 0; k < kParts; ++k) {
#pragma unroll
            for (int q = 0; q < 4; ++q) {
                const float* two = sum[2 * k + q / 2] + q % 2 * 2;
                x[k][q] = pack(two[0], two[1]);
            }
        }
    }
#pragma unroll
    for (int k = 0; k < kParts; ++k) {
#pragma unroll
        for (int q = 0; q < 4; ++q) {
            __half* to = out + (first + q % 2 * 8) * kFrame + k * 16 + q / 2 * 8 + pair;
            *reinterpret_cast<unsigned*>(to) = x[k][q];
        }
    }
}
