// Inverses of many 32 x 32 matrices, a warp for each, in registers
//
// A lane keeps its column of the matrix in registers. In each of 32 steps the pivot column
// alone goes through shared memory, four values at a time.
//
// /// kernelprof
// kernel = "invert"
// block = [256]
// grid = ["count // 8"]
// reference = "reference:invert"
// flops = "2 * 32 ** 3 * count"
// min_bytes = "8 * 32 ** 2 * count"
//
// [sizes]
// count = 32768
//
// [check]
// sizes = { count = 512 }
//
// [[arguments]]
// name = "matrices"
// type = "float32"
// shape = ["count", 32, 32]
//
// [[arguments]]
// name = "inverses"
// type = "float32"
// shape = ["count", 32, 32]
// output = true
//
// [[arguments]]
// name = "ridge"
// type = "float32"
// value = 16.0
//
// [compile]
// flags = ["-O3"]
// standard = "c++17"
// ///

constexpr int SIDE = 32;   // of a matrix: a lane has a column
constexpr int WARPS = 8;   // of a block, with a matrix each

// Gauss-Jordan elimination in place. The diagonal is heavy, so that no pivots have to be searched.
extern "C" __global__ void __launch_bounds__(32 * WARPS)
    invert(const float* __restrict__ matrices, float* __restrict__ inverses, float ridge) {
    __shared__ __align__(16) float columns[WARPS][SIDE];
    const int warp = threadIdx.x / 32;
    const int lane = threadIdx.x % 32;
    const size_t matrix = (static_cast<size_t>(blockIdx.x) * WARPS + warp) * SIDE * SIDE;
    float tile[SIDE];
    float* column = columns[warp];
#pragma unroll
    for (int i = 0; i < SIDE; ++i) {
        tile[i] = matrices[matrix + i * SIDE + lane] + (i == lane ? ridge : 0.0f);
    }
    for (int k = 0; k < SIDE; ++k) {
        // The rows move up by one in each step: row k is always the first.
        __syncwarp();
        if (lane == k) {
#pragma unroll
            for (int i = 0; i < SIDE; ++i) column[i] = tile[i];
        }
        __syncwarp();
        const float scale = 1.0f / column[0];
        const float pivot = scale * (lane == k ? 1.0f : tile[0]);
#pragma unroll
        for (int i = 1; i < SIDE; ++i) {
            const float old = lane == k ? 0.0f : tile[i];
            tile[i - 1] = old - column[i] * pivot;
        }
        tile[SIDE - 1] = pivot;
    }
#pragma unroll
    for (int i = 0; i < SIDE; ++i) inverses[matrix + i * SIDE + lane] = tile[i];
}
