// Rods that cool, each solved by one thread from one end to the other
//
// A rod's 200 cells and as many factors lie in shared memory, 1600 bytes a thread, so that an SM
// holds four warps and no more. Every cell's reciprocal depends on the cell before it, and a
// scheduler has one warp: it waits for nearly every instruction.
//
// /// kernelprof
// kernel = "cool"
// block = [128]
// grid = ["rods // 128"]
// reference = "reference:cool"
// min_bytes = "8 * 200 * rods"
//
// [sizes]
// rods = 67584
// steps = 32
//
// [check]
// sizes = { rods = 256, steps = 5 }
//
// [[arguments]]
// name = "start"
// type = "float32"
// shape = [200, "rods"]
// fill = "reference:start"
//
// [[arguments]]
// name = "end"
// type = "float32"
// shape = [200, "rods"]
// output = true
//
// [[arguments]]
// name = "rods"
// type = "int32"
// value = "rods"
//
// [[arguments]]
// name = "steps"
// type = "int32"
// value = "steps"
//
// [compile]
// flags = ["-O3", "--use_fast_math"]
// standard = "c++17"
//
// [launch]
// shared_bytes = "8 * 200 * 128"
// ///

constexpr int CELLS = 200;  // of a rod
constexpr int RODS = 128;   // of a block, one for each thread

__device__ float conductance(float a, float b) { return 0.4f + 0.1f * (a + b); }

extern "C" __global__ void __launch_bounds__(RODS)
    cool(const float* __restrict__ start, float* __restrict__ end, int rods, int steps) {
    extern __shared__ float cells[];
    float* heat = cells + threadIdx.x;                   // of cell i at heat[i * RODS]
    float* factor = cells + CELLS * RODS + threadIdx.x;  // of its neighbour, after elimination
    const int rod = blockIdx.x * RODS + threadIdx.x;
    for (int i = 0; i < CELLS; ++i) heat[i * RODS] = start[static_cast<size_t>(i) * rods + rod];

#pragma unroll 1
    for (int step = 0; step < steps; ++step) {
        // Heat flows between neighbours: implicit Euler, a tridiagonal system for each rod.
        float here = heat[0];
        float left = 0.0f;  // conductance to the cell before
        float sum = 0.0f;
        float ratio = 0.0f;
#pragma unroll 4
        for (int i = 0; i < CELLS; ++i) {
            const float next = i + 1 < CELLS ? heat[(i + 1) * RODS] : 0.0f;
            const float right = i + 1 < CELLS ? conductance(here, next) : 0.0f;
            const float scale = 1.0f / (1.0f + left + right - left * ratio);
            sum = (here + left * sum) * scale;
            ratio = right * scale;
            heat[i * RODS] = sum;
            factor[i * RODS] = ratio;
            left = right;
            here = next;
        }
#pragma unroll 4
        for (int i = CELLS - 2; i >= 0; --i) {
            sum = fmaf(factor[i * RODS], sum, heat[i * RODS]);
            heat[i * RODS] = sum;
        }
    }
    for (int i = 0; i < CELLS; ++i) end[static_cast<size_t>(i) * rods + rod] = heat[i * RODS];
}
