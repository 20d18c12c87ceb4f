// Heat in rods, pictures stored at once
//
// Pictures go to memory when they are ready, and two blocks fit an SM. Each step still has two
// barriers.
//
// /// kernelprof
// kernel = "heat"
// block = [1024]
// grid = ["BLOCKS"]
// reference = "reference:heat"
// min_bytes = "4 * 1024 * 31 * BLOCKS"
//
// [sizes]
// BLOCKS = 528
//
// [check]
// sizes = { BLOCKS = 3 }
// tolerance = 1e-4
//
// [[arguments]]
// name = "start"
// type = "float32"
// shape = ["BLOCKS", 32, 32]
//
// [[arguments]]
// name = "pictures"
// type = "float32"
// shape = ["BLOCKS", 30, 32, 32]
// output = true
//
// [[arguments]]
// name = "rate"
// type = "float32"
// value = 0.25
//
// [compile]
// standard = "c++17"
// flags = ["-O3"]
// ///

constexpr int CELLS = 32;     // of a rod, one for each lane
constexpr int RODS = 32;      // of a block, one for each warp
constexpr int PICTURES = 30;
constexpr int STEPS = 64;     // from one picture to the next

// Explicit heat steps for rods with insulated ends.
extern "C" __global__ void __launch_bounds__(1024) heat(const float* __restrict__ start,
                                                        float* __restrict__ pictures, float rate) {
    __shared__ float now[RODS * CELLS];
    const int lane = threadIdx.x % CELLS;
    const float* left = &now[threadIdx.x - (lane > 0)];
    const float* right = &now[threadIdx.x + (lane < CELLS - 1)];
    float mine = start[blockIdx.x * blockDim.x + threadIdx.x];
    now[threadIdx.x] = mine;
    __syncthreads();
    float* to = pictures + static_cast<size_t>(blockIdx.x) * (PICTURES * RODS * CELLS);
#pragma unroll 1
    for (int picture = 0; picture < PICTURES; ++picture) {
#pragma unroll 1
        for (int step = 0; step < STEPS; ++step) {
            mine = fmaf(rate, (*left - mine) + (*right - mine), mine);
            __syncthreads();
            now[threadIdx.x] = mine;
            __syncthreads();
        }
        to[picture * (RODS * CELLS) + threadIdx.x] = mine;
    }
}
