// Columns of air, 32 of them held to one step by a barrier of the block
//
// A warp advances a column; its lanes exchange levels through shared memory. Now and then a column
// divides its step into 48 parts, another one each time, and a barrier of the block has the 31
// others wait, though no data passes between columns.
//
// /// kernelprof
// kernel = "advance"
// block = [1024]
// grid = ["columns // 32"]
// reference = "reference:advance"
// min_bytes = "(8 * 32 + steps) * columns"
//
// [sizes]
// columns = 33792
// steps = 256
//
// [check]
// sizes = { columns = 64, steps = 64 }
//
// [[arguments]]
// name = "start"
// type = "float32"
// shape = ["columns", 32]
// fill = "reference:start"
//
// [[arguments]]
// name = "parts"
// type = "uint8"
// shape = ["columns", "steps"]
// fill = "reference:parts"
//
// [[arguments]]
// name = "end"
// type = "float32"
// shape = ["columns", 32]
// output = true
//
// [[arguments]]
// name = "steps"
// type = "int32"
// value = "steps"
//
// [compile]
// flags = ["-O3"]
// standard = "c++17"
// ///

constexpr int LEVELS = 32;   // of a column of air: one for each lane
constexpr int COLUMNS = 32;  // of a block: one for each warp

extern "C" __global__ void __launch_bounds__(LEVELS* COLUMNS)
    advance(const float* __restrict__ start, const unsigned char* __restrict__ parts,
            float* __restrict__ end, int steps) {
    __shared__ float levels[2][COLUMNS][LEVELS];
    const int level = threadIdx.x % LEVELS;
    const int warp = threadIdx.x / LEVELS;
    const size_t column = static_cast<size_t>(blockIdx.x) * COLUMNS + warp;
    const int above = min(level + 1, LEVELS - 1);
    const int below = max(level - 1, 0);
    float water = start[column * LEVELS + level];
    int next_parts = 0;
    for (int step = 0; step < steps; ++step) {
        if (step % 32 == 0) next_parts = parts[column * steps + step + level];
        const int count = __shfl_sync(~0u, next_parts, step % 32);

        float* mine = levels[step & 1][warp];
        mine[level] = water;
        __syncthreads();
        water = fmaf(0.01f, mine[above] + mine[below] - 2.0f * water, water);

        // Condensation, in as many parts of the step as the column needs to stay stable.
        const float length = 0.004f / count;
        for (int part = 0; part < count; ++part) {
            water = fmaf(length, 0.3f - water / (0.5f + water), water);
        }
    }
    end[column * LEVELS + level] = water;
}
