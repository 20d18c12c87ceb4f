// Leaky integrator cells, 33 blocks and one cell at a time
//
// Three of four SMs have no block. On the others each scheduler has one warp, whose multiply-adds
// wait for each other four cycles each. Either would bring the factor of four.
//
// /// kernelprof
// kernel = "integrate"
// block = [128]
// grid = [33]
// reference = "reference:integrate"
// flops = "2 * CELLS * STEPS"
// min_bytes = "16 * CELLS"
//
// [sizes]
// CELLS = 67584
// STEPS = 8192
//
// [check]
// sizes = { STEPS = 512 }
// tolerance = 1e-4
//
// [[arguments]]
// name = "start"
// type = "float32"
// shape = ["CELLS"]
//
// [[arguments]]
// name = "leak"
// type = "float32"
// shape = ["CELLS"]
//
// [[arguments]]
// name = "drive"
// type = "float32"
// shape = ["CELLS"]
//
// [[arguments]]
// name = "end"
// type = "float32"
// shape = ["CELLS"]
// output = true
//
// [[arguments]]
// name = "cells"
// type = "int32"
// value = "CELLS"
//
// [[arguments]]
// name = "steps"
// type = "int32"
// value = "STEPS"
//
// [compile]
// standard = "c++17"
// flags = ["-O3"]
// defines = { CHAINS = 1 }
// ///

// A leaking integrator for each cell: v = keep * v + drive in each step. A thread carries CHAINS
// cells side by side.
extern "C" __global__ void integrate(const float* __restrict__ start,
                                     const float* __restrict__ leak,
                                     const float* __restrict__ drive, float* __restrict__ end,
                                     int cells, int steps) {
    const int thread = blockIdx.x * blockDim.x + threadIdx.x;
    const int threads = gridDim.x * blockDim.x;
    for (int first = thread; first < cells; first += CHAINS * threads) {
        float v[CHAINS], keep[CHAINS], input[CHAINS];
#pragma unroll
        for (int c = 0; c < CHAINS; ++c) {
            v[c] = start[first + c * threads];
            keep[c] = fmaf(0.005f, leak[first + c * threads], 0.99f);
            input[c] = drive[first + c * threads];
        }
#pragma unroll 8
        for (int step = 0; step < steps; ++step) {
#pragma unroll
            for (int c = 0; c < CHAINS; ++c) v[c] = fmaf(keep[c], v[c], input[c]);
        }
#pragma unroll
        for (int c = 0; c < CHAINS; ++c) end[first + c * threads] = v[c];
    }
}
