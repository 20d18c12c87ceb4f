// Rods that cool, each solved by one thread from both ends
//
// The eliminations from the two ends do not depend on each other until they meet in the middle, and
// neither do the two halves on the way back.
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
        // Heat flows between neighbours: implicit Euler, a tridiagonal system for each rod. It is
        // eliminated from both ends towards the middle, and solved from there to both ends.
        constexpr int HALF = CELLS / 2;
        float here = heat[0];
        float there = heat[(CELLS - 1) * RODS];
        float left = 0.0f;  // conductance to the cell before
        float right = 0.0f;
        float sum = 0.0f;
        float ratio = 0.0f;
        float other_sum = 0.0f;
        float other_ratio = 0.0f;
#pragma unroll 4
        for (int i = 0; i < HALF; ++i) {
            const int j = CELLS - 1 - i;
            const float next = heat[(i + 1) * RODS];
            const float other_next = heat[(j - 1) * RODS];
            // In the middle the neighbour has been overwritten by its own sum: use the value kept.
            const float inner = conductance(here, i + 1 < HALF ? next : there);
            const float other_inner = conductance(there, i + 1 < HALF ? other_next : here);
            const float scale = 1.0f / (1.0f + left + inner - left * ratio);
            const float other_scale = 1.0f / (1.0f + right + other_inner - right * other_ratio);
            sum = (here + left * sum) * scale;
            other_sum = (there + right * other_sum) * other_scale;
            ratio = inner * scale;
            other_ratio = other_inner * other_scale;
            heat[i * RODS] = sum;
            heat[j * RODS] = other_sum;
            factor[i * RODS] = ratio;
            factor[j * RODS] = other_ratio;
            left = inner;
            right = other_inner;
            here = next;
            there = other_next;
        }
        const float meet = 1.0f / (1.0f - ratio * other_ratio);
        const float middle = (sum + ratio * other_sum) * meet;
        other_sum = (other_sum + other_ratio * sum) * meet;
        sum = middle;
        heat[(HALF - 1) * RODS] = sum;
        heat[HALF * RODS] = other_sum;
#pragma unroll 4
        for (int i = HALF - 2; i >= 0; --i) {
            const int j = CELLS - 1 - i;
            sum = fmaf(factor[i * RODS], sum, heat[i * RODS]);
            other_sum = fmaf(factor[j * RODS], other_sum, heat[j * RODS]);
            heat[i * RODS] = sum;
            heat[j * RODS] = other_sum;
        }
    }
    for (int i = 0; i < CELLS; ++i) end[static_cast<size_t>(i) * rods + rod] = heat[i * RODS];
}
