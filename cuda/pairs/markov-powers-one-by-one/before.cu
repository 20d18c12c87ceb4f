// 64 steps of many Markov chains of 16 states, one product after the other
//
// Each warp raises four 16 x 16 matrices to their 64th power in registers, as 63 products with the
// matrix itself. The tensor cores are full, with products of which most are not needed.
//
// /// kernelprof
// kernel = "steps_of_chains"
// block = [256]
// grid = ["chains // (8 * EACH)"]
// reference = "reference:steps_of_chains"
//
// [sizes]
// chains = 131072
//
// [check]
// sizes = { chains = 256 }
// tolerance = 3e-2
//
// [[arguments]]
// name = "transitions"
// type = "float16"
// shape = ["chains", "16", "16"]
// fill = "reference:transitions"
//
// [[arguments]]
// name = "out"
// type = "float16"
// shape = ["chains", "16", "16"]
// output = true
//
// [compile]
// flags = ["-O3"]
// standard = "c++17"
// defines = { STEPS = 64, EACH = 4 }
// ///

#include <cuda_fp16.h>

// A 16 x 16 matrix in a warp, as the left operand and the result hold it: four blocks of 8 x 8, in
// the order of columns, with two neighbours of row lane / 4 in each register.
struct Matrix {
    unsigned block[4];
};

// Where this thread's two numbers of a block lie in memory, counted in pairs.
__device__ __forceinline__ int place(int block) {
    const int lane = threadIdx.x % 32;
    return (lane / 4 + block % 2 * 8) * 8 + lane % 4 + block / 2 * 4;
}

// The right operand holds each block transposed.
__device__ __forceinline__ Matrix as_right(const Matrix& m) {
    Matrix right;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        asm("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;"
            : "=r"(right.block[i])
            : "r"(m.block[i]));
    }
    return right;
}

__device__ __forceinline__ Matrix multiply(const Matrix& left, const Matrix& right) {
    Matrix product;
#pragma unroll
    for (int half = 0; half < 4; half += 2) {
        asm("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 "
            "{%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%8, %8};"
            : "=r"(product.block[half]), "=r"(product.block[half + 1])
            : "r"(left.block[0]), "r"(left.block[1]), "r"(left.block[2]), "r"(left.block[3]),
              "r"(right.block[half]), "r"(right.block[half + 1]), "r"(0));
    }
    return product;
}

extern "C" __global__ void steps_of_chains(const __half* __restrict__ transitions,
                                           __half* __restrict__ out) {
    const size_t first = (static_cast<size_t>(blockIdx.x) * 8 + threadIdx.x / 32) * EACH;
    Matrix power[EACH];
#pragma unroll
    for (int e = 0; e < EACH; ++e) {
        const unsigned* from = reinterpret_cast<const unsigned*>(transitions) + (first + e) * 128;
#pragma unroll
        for (int i = 0; i < 4; ++i) power[e].block[i] = from[place(i)];
    }
    Matrix one[EACH];
#pragma unroll
    for (int e = 0; e < EACH; ++e) one[e] = as_right(power[e]);
    for (int step = 1; step < STEPS; ++step) {
#pragma unroll
        for (int e = 0; e < EACH; ++e) power[e] = multiply(power[e], one[e]);
    }
#pragma unroll
    for (int e = 0; e < EACH; ++e) {
        unsigned* to = reinterpret_cast<unsigned*>(out) + (first + e) * 128;
#pragma unroll
        for (int i = 0; i < 4; ++i) to[place(i)] = power[e].block[i];
    }
}
