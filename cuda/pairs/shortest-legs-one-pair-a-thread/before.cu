// Min-plus product of distance matrices, one pair of nodes a thread
//
// The shortest way over one stop in between, for all pairs of nodes of each graph. Every addition
// needs two loads, in order or the same for the whole warp, that L1 serves.
//
// /// kernelprof
// kernel = "shortest"
// block = [32, 8]
// grid = ["NODES // (32 * COLUMNS)", "NODES // (8 * ROWS)", "graphs"]
// reference = "reference:shortest"
// flops = "2 * graphs * NODES ** 3"
// min_bytes = "12 * graphs * NODES ** 2"
//
// [sizes]
// graphs = 96
//
// [check]
// sizes = { graphs = 2 }
//
// [[arguments]]
// name = "first"
// type = "float32"
// shape = ["graphs", "NODES", "NODES"]
//
// [[arguments]]
// name = "second"
// type = "float32"
// shape = ["graphs", "NODES", "NODES"]
//
// [[arguments]]
// name = "both"
// type = "float32"
// shape = ["graphs", "NODES", "NODES"]
// output = true
//
// [compile]
// flags = ["-O3"]
// defines = { NODES = 256, ROWS = 1, COLUMNS = 1 }
// standard = "c++17"
// ///

extern "C" __global__ void __launch_bounds__(256)
    shortest(const float* __restrict__ first, const float* __restrict__ second,
             float* __restrict__ both) {
    const size_t graph = static_cast<size_t>(blockIdx.z) * NODES * NODES;
    const int row = (blockIdx.y * 8 + threadIdx.y) * ROWS;
    const int column = blockIdx.x * 32 * COLUMNS + threadIdx.x;
    const float* from = first + graph + row * NODES;
    const float* to = second + graph + column;
    float least[ROWS][COLUMNS];
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
#pragma unroll
        for (int c = 0; c < COLUMNS; ++c) least[r][c] = INFINITY;
    }
#pragma unroll 4
    for (int k = 0; k < NODES; ++k) {
        float leg[COLUMNS];
#pragma unroll
        for (int c = 0; c < COLUMNS; ++c) leg[c] = to[k * NODES + 32 * c];
#pragma unroll
        for (int r = 0; r < ROWS; ++r) {
            const float start = from[r * NODES + k];
#pragma unroll
            for (int c = 0; c < COLUMNS; ++c) least[r][c] = fminf(least[r][c], start + leg[c]);
        }
    }
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
#pragma unroll
        for (int c = 0; c < COLUMNS; ++c) {
            both[graph + (row + r) * NODES + column + 32 * c] = least[r][c];
        }
    }
}
