// Walsh-Hadamard transform of rows of 32, padded tile
//
// Rows of 33 floats in the tile spread a store over all banks. The reads still touch 32 lines.
//
// /// kernelprof
// kernel = "hadamard"
// block = [128]
// grid = ["ROWS // 128"]
// reference = "reference:hadamard"
// min_bytes = "256 * ROWS"
//
// [sizes]
// ROWS = 1048576
// PITCH = 33
//
// [check]
// sizes = { ROWS = 4096 }
//
// [[arguments]]
// name = "x"
// type = "float32"
// shape = ["ROWS", 32]
//
// [[arguments]]
// name = "y"
// type = "float32"
// shape = ["ROWS", 32]
// output = true
//
// [[arguments]]
// name = "rows"
// type = "int32"
// value = "ROWS"
//
// [[arguments]]
// name = "pitch"
// type = "int32"
// value = "PITCH"
//
// [compile]
// standard = "c++17"
// flags = ["-O3"]
//
// [launch]
// shared_bytes = "4 * 4 * 32 * PITCH"
// ///

constexpr int LENGTH = 32;
constexpr int WARPS = 4;

// Each thread transforms a row; the tile in shared memory is there to store rows in order.
extern "C" __global__ void __launch_bounds__(128) hadamard(const float* __restrict__ x,
                                                           float* __restrict__ y, int rows,
                                                           int pitch) {
    extern __shared__ float tiles[];
    const int lane = threadIdx.x % 32;
    const int warp = threadIdx.x / 32;
    const int first = (blockIdx.x * WARPS + warp) * 32;
    float* tile = tiles + warp * (32 * pitch);
    float v[LENGTH];
#pragma unroll
    for (int k = 0; k < LENGTH; ++k) v[k] = x[static_cast<size_t>(first + lane) * LENGTH + k];
#pragma unroll
    for (int half = 1; half < LENGTH; half *= 2) {
#pragma unroll
        for (int k = 0; k < LENGTH; ++k) {
            if ((k & half) == 0) {
                const float low = v[k];
                v[k] = low + v[k + half];
                v[k + half] = low - v[k + half];
            }
        }
    }
#pragma unroll
    for (int k = 0; k < LENGTH; ++k) tile[lane * pitch + k] = v[k];
    __syncwarp();
#pragma unroll
    for (int row = 0; row < 32; ++row) {
        y[static_cast<size_t>(first + row) * LENGTH + lane] = tile[row * pitch + lane];
    }
}
