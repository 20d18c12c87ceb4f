// Many steps of a Markov chain of 64 states on tensor cores
//
// A warp carries 16 distributions through all steps: the matrix and the distributions stay in
// registers, and the accumulators of one step are packed to be the operand of the next. Hardly
// anything but matrix instructions is issued.
//
// /// kernelprof
// kernel = "walk_chain"
// block = [128]
// grid = ["ROWS // 64"]
// reference = "reference:walk_chain"
// flops = "2 * ROWS * 64 * 64 * STEPS"
// min_bytes = "256 * ROWS"
//
// [sizes]
// ROWS = 67584
// STEPS = 256
//
// [check]
// sizes = { ROWS = 256, STEPS = 32 }
// tolerance = 2e-3
//
// [[arguments]]
// name = "start"
// type = "float16"
// shape = ["ROWS", 64]
// fill = "reference:distributions"
//
// [[arguments]]
// name = "moves"
// type = "float16"
// shape = [64, 64]
// fill = "reference:transitions"
//
// [[arguments]]
// name = "end"
// type = "float16"
// shape = ["ROWS", 64]
// output = true
//
// [[arguments]]
// name = "steps"
// type = "int32"
// value = "STEPS"
//
// [compile]
// standard = "c++17"
// flags = ["-O3"]
// ///

#include <cuda_fp16.h>

constexpr int STATES = 64;
constexpr int K_BLOCKS = STATES / 16;
constexpr int N_BLOCKS = STATES / 8;

// d = a b + c, 16 x 8 from 16 x 16 and 16 x 8.
__device__ void multiply_add(float (&d)[4], const unsigned int (&a)[4], unsigned int b0,
                             unsigned int b1, const float (&c)[4]) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};"
        : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1), "f"(c[0]), "f"(c[1]),
          "f"(c[2]), "f"(c[3]));
}

__device__ unsigned int packed(float low, float high) {
    const __half2 both = __floats2half2_rn(low, high);
    return *reinterpret_cast<const unsigned int*>(&both);
}

// `moves` holds a row for each state that is moved to, so that pairs of its halves are operands.
// Two halves, as the tensor cores take them.
__device__ const unsigned int* pairs(const __half* values) {
    return reinterpret_cast<const unsigned int*>(values);
}

extern "C" __global__ void __launch_bounds__(128, 4)
    walk_chain(const __half* __restrict__ start, const __half* __restrict__ moves,
               __half* __restrict__ end, int steps) {
    const int lane = threadIdx.x % 32;
    const int group = lane / 4;
    const int pair = lane % 4;
    const size_t row = (blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32) * 16 + group;

    unsigned int b[K_BLOCKS][N_BLOCKS][2];
#pragma unroll
    for (int k = 0; k < K_BLOCKS; ++k) {
#pragma unroll
        for (int n = 0; n < N_BLOCKS; ++n) {
            const unsigned int* from = pairs(moves) + (n * 8 + group) * (STATES / 2) + k * 8 + pair;
            b[k][n][0] = from[0];
            b[k][n][1] = from[4];
        }
    }
    unsigned int a[K_BLOCKS][4];
    const unsigned int* from = pairs(start) + row * (STATES / 2) + pair;
#pragma unroll
    for (int k = 0; k < K_BLOCKS; ++k) {
        a[k][0] = from[k * 8];
        a[k][1] = from[k * 8 + 8 * (STATES / 2)];
        a[k][2] = from[k * 8 + 4];
        a[k][3] = from[k * 8 + 4 + 8 * (STATES / 2)];
    }
#pragma unroll 1
    for (int step = 0; step < steps; ++step) {
        float sum[N_BLOCKS][4] = {};
#pragma unroll
        for (int k = 0; k < K_BLOCKS; ++k) {
#pragma unroll
            for (int n = 0; n < N_BLOCKS; ++n) {
                multiply_add(sum[n], a[k], b[k][n][0], b[k][n][1], sum[n]);
            }
        }
#pragma unroll
        for (int k = 0; k < K_BLOCKS; ++k) {
            a[k][0] = packed(sum[2 * k][0], sum[2 * k][1]);
            a[k][1] = packed(sum[2 * k][2], sum[2 * k][3]);
            a[k][2] = packed(sum[2 * k + 1][0], sum[2 * k + 1][1]);
            a[k][3] = packed(sum[2 * k + 1][2], sum[2 * k + 1][3]);
        }
    }
    unsigned int* to = reinterpret_cast<unsigned int*>(end) + row * (STATES / 2) + pair;
#pragma unroll
    for (int k = 0; k < K_BLOCKS; ++k) {
        to[k * 8] = a[k][0];
        to[k * 8 + 8 * (STATES / 2)] = a[k][1];
        to[k * 8 + 4] = a[k][2];
        to[k * 8 + 4 + 8 * (STATES / 2)] = a[k][3];
    }
}
