// Many steps of LSTM cells with 16 states, by the hardware's tangent
//
// A warp carries 16 sequences, their states and the weights in registers. Gates and
// tangents take one special function each, half of what they took.
//
// /// kernelprof
// kernel = "run_cells"
// block = [128]
// grid = ["ROWS // 64"]
// reference = "reference:run_cells"
// flops = "2 * ROWS * 16 * 64 * STEPS"
//
// [sizes]
// ROWS = 67584
// STEPS = 128
//
// [check]
// sizes = { ROWS = 256, STEPS = 16 }
// tolerance = 1e-2
//
// [[arguments]]
// name = "start"
// type = "float16"
// shape = ["ROWS", 16]
//
// [[arguments]]
// name = "weights"
// type = "float16"
// shape = [64, 16]
//
// [[arguments]]
// name = "bias"
// type = "float32"
// shape = [64]
//
// [[arguments]]
// name = "end"
// type = "float16"
// shape = ["ROWS", 16]
// output = true
//
// [[arguments]]
// name = "steps"
// type = "int32"
// value = "STEPS"
//
// [compile]
// standard = "c++17"
// flags = ["-O3", "--use_fast_math"]
// ///

#include <cuda_fp16.h>

constexpr int STATES = 16;
constexpr int TILES = 8;  // of eight columns: two each for input, forget, new and output gates

__device__ void multiply_add(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

__device__ float tangent(float x) {
    float y;
    asm("tanh.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

__device__ float sigmoid(float x) { return 0.5f * tangent(0.5f * x) + 0.5f; }

__device__ unsigned packed(float low, float high) {
    const __half2 both = __floats2half2_rn(low, high);
    return *reinterpret_cast<const unsigned*>(&both);
}

// Two halves, as the tensor cores take them.
__device__ const unsigned* pairs(const __half* values) {
    return reinterpret_cast<const unsigned*>(values);
}

extern "C" __global__ void __launch_bounds__(128)
    run_cells(const __half* __restrict__ start, const __half* __restrict__ weights,
              const float* __restrict__ bias, __half* __restrict__ end, int steps) {
    const int lane = threadIdx.x % 32;
    const int group = lane / 4;
    const int pair = lane % 4;
    const int row = (blockIdx.x * 4 + threadIdx.x / 32) * 16 + group;

    unsigned b[TILES][2];
    float from[TILES][2];
#pragma unroll
    for (int n = 0; n < TILES; ++n) {
        const unsigned* line = pairs(weights) + (n * 8 + group) * (STATES / 2) + pair;
        b[n][0] = line[0];
        b[n][1] = line[4];
        from[n][0] = bias[n * 8 + 2 * pair];
        from[n][1] = bias[n * 8 + 2 * pair + 1];
    }
    const unsigned* first = pairs(start) + row * (STATES / 2) + pair;
    unsigned a[4] = {first[0], first[8 * (STATES / 2)], first[4], first[8 * (STATES / 2) + 4]};
    float cell[2][4] = {};
#pragma unroll 1
    for (int step = 0; step < steps; ++step) {
        float sum[TILES][4];
#pragma unroll
        for (int n = 0; n < TILES; ++n) {
#pragma unroll
            for (int q = 0; q < 4; ++q) sum[n][q] = from[n][q % 2];
            multiply_add(sum[n], a, b[n][0], b[n][1]);
        }
#pragma unroll
        for (int t = 0; t < 2; ++t) {
            float state[4];
#pragma unroll
            for (int q = 0; q < 4; ++q) {
                cell[t][q] = sigmoid(sum[2 + t][q]) * cell[t][q] +
                             sigmoid(sum[t][q]) * tangent(sum[4 + t][q]);
                state[q] = sigmoid(sum[6 + t][q]) * tangent(cell[t][q]);
            }
            a[2 * t] = packed(state[0], state[1]);
            a[2 * t + 1] = packed(state[2], state[3]);
        }
    }
    unsigned* last = reinterpret_cast<unsigned*>(end) + row * (STATES / 2) + pair;
    last[0] = a[0];
    last[8 * (STATES / 2)] = a[1];
    last[4] = a[2];
    last[8 * (STATES / 2) + 4] = a[3];
}
