// 100 Jacobi iterations of one small system for many right-hand sides, in FP16
//
// Each warp carries 16 right-hand sides of 32 unknowns in registers, and the matrix beside them.
// The values stay near one, so that FP16's range is enough, and its mantissa is as long as that of
// TF32.
//
// /// kernelprof
// kernel = "jacobi"
// block = [128]
// grid = ["sides // 64"]
// reference = "reference:jacobi"
//
// [sizes]
// sides = 262144
// iterations = 100
//
// [check]
// sizes = { sides = 1024 }
// tolerance = 5e-3
//
// [[arguments]]
// name = "matrix"
// type = "float32"
// shape = ["32", "32"]
// fill = "reference:matrix"
//
// [[arguments]]
// name = "right"
// type = "float32"
// shape = ["sides", "32"]
//
// [[arguments]]
// name = "out"
// type = "float32"
// shape = ["sides", "32"]
// output = true
//
// [[arguments]]
// name = "iterations"
// type = "int32"
// value = "iterations"
//
// [compile]
// flags = ["-O3"]
// standard = "c++17"
// ///

#include <cuda_fp16.h>

constexpr int kSize = 32;
constexpr int kDepth = 16;  // of one matrix instruction
constexpr int kParts = kSize / kDepth;
constexpr int kTiles = kSize / 8;

__device__ __forceinline__ unsigned operand(float low, float high) {
    const __half2 two = __floats2half2_rn(low, high);
    return *reinterpret_cast<const unsigned*>(&two);
}

__device__ __forceinline__ void multiply(float (&sum)[4], const unsigned (&a)[4],
                                         const unsigned (&b)[2]) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// x = x matrix + right, over and over; rows are right-hand sides.
extern "C" __global__ void __launch_bounds__(128)
    jacobi(const float* __restrict__ matrix, const float* __restrict__ right,
           float* __restrict__ out, int iterations) {
    const int row = threadIdx.x % 32 / 4;
    const int pair = threadIdx.x % 4 * 2;
    const int first = blockIdx.x * 64 + threadIdx.x / 32 * 16 + row;

    unsigned m[kParts][kTiles][2];
#pragma unroll
    for (int k = 0; k < kParts; ++k) {
#pragma unroll
        for (int n = 0; n < kTiles; ++n) {
            const float* from = matrix + (k * kDepth + pair) * kSize + n * 8 + row;
            m[k][n][0] = operand(from[0], from[kSize]);
            m[k][n][1] = operand(from[8 * kSize], from[9 * kSize]);
        }
    }
    float b[kTiles][4];
    float x[kTiles][4];
#pragma unroll
    for (int n = 0; n < kTiles; ++n) {
#pragma unroll
        for (int q = 0; q < 4; ++q) {
            b[n][q] = right[static_cast<size_t>(first + q / 2 * 8) * kSize + n * 8 + pair + q % 2];
            x[n][q] = b[n][q];
        }
    }

#pragma unroll 1
    for (int i = 0; i < iterations; ++i) {
        unsigned old[kParts][4];
#pragma unroll
        for (int k = 0; k < kParts; ++k) {
            old[k][0] = operand(x[2 * k][0], x[2 * k][1]);
            old[k][1] = operand(x[2 * k][2], x[2 * k][3]);
            old[k][2] = operand(x[2 * k + 1][0], x[2 * k + 1][1]);
            old[k][3] = operand(x[2 * k + 1][2], x[2 * k + 1][3]);
        }
#pragma unroll
        for (int n = 0; n < kTiles; ++n) {
#pragma unroll
            for (int q = 0; q < 4; ++q) x[n][q] = b[n][q];
        }
#pragma unroll
        for (int k = 0; k < kParts; ++k) {
#pragma unroll
            for (int n = 0; n < kTiles; ++n) multiply(x[n], old[k], m[k][n]);
        }
    }
#pragma unroll
    for (int n = 0; n < kTiles; ++n) {
#pragma unroll
        for (int q = 0; q < 4; ++q) {
            out[static_cast<size_t>(first + q / 2 * 8) * kSize + n * 8 + pair + q % 2] = x[n][q];
        }
    }
}
