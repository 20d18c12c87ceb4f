// Distances to cluster centres, the giant split
//
// No block has more than 1024 rows, so that all end together. Reads of the tile still take 32
// turns.
//
// /// kernelprof
// kernel = "distances"
// block = [256]
// grid = ["clusters + giant // 1024 - 1"]
// reference = "reference:distances"
// min_bytes = "132 * (giant + 768 * (clusters - 1))"
//
// [sizes]
// clusters = 1057
// giant = 16384
// PITCH = 32
//
// [check]
// sizes = { clusters = 9, giant = 4096 }
//
// [[arguments]]
// name = "x"
// type = "float32"
// shape = ["giant + 768 * (clusters - 1)", 32]
//
// [[arguments]]
// name = "centres"
// type = "float32"
// shape = ["clusters", 32]
//
// [[arguments]]
// name = "first"
// type = "int32"
// shape = ["clusters + giant // 1024 - 1"]
// fill = "reference:split_first"
//
// [[arguments]]
// name = "last"
// type = "int32"
// shape = ["clusters + giant // 1024 - 1"]
// fill = "reference:split_last"
//
// [[arguments]]
// name = "cluster"
// type = "int32"
// shape = ["clusters + giant // 1024 - 1"]
// fill = "reference:split_cluster"
//
// [[arguments]]
// name = "distance"
// type = "float32"
// shape = ["giant + 768 * (clusters - 1)"]
// output = true
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
// shared_bytes = "4 * 256 * PITCH"
// ///

constexpr int FEATURES = 32;
constexpr int ROWS = 256;  // of a tile, one for each thread

// The distance of each row to the centre of its cluster. A block has the rows from first to last
// of one cluster and goes through them tile by tile.
extern "C" __global__ void distances(const float* __restrict__ x,
                                     const float* __restrict__ centres,
                                     const int* __restrict__ first, const int* __restrict__ last,
                                     const int* __restrict__ cluster,
                                     float* __restrict__ distance, int pitch) {
    extern __shared__ float tile[];
    __shared__ float centre[FEATURES];
    if (threadIdx.x < FEATURES) {
        centre[threadIdx.x] = centres[cluster[blockIdx.x] * FEATURES + threadIdx.x];
    }
    const int lane = threadIdx.x % FEATURES;
    const int warp = threadIdx.x / FEATURES;
    const int end = last[blockIdx.x];
    for (int start = first[blockIdx.x]; start < end; start += ROWS) {
        __syncthreads();
#pragma unroll 8
        for (int row = warp; row < ROWS; row += ROWS / FEATURES) {
            if (start + row < end) {
                tile[row * pitch + lane] = x[static_cast<size_t>(start + row) * FEATURES + lane];
            }
        }
        __syncthreads();
        float sum = 0.0f;
#pragma unroll
        for (int k = 0; k < FEATURES; ++k) {
            const float apart = tile[threadIdx.x * pitch + k] - centre[k];
            sum = fmaf(apart, apart, sum);
        }
        if (start + threadIdx.x < end) distance[start + threadIdx.x] = sqrtf(sum);
    }
}
