// Equalise the histogram of each tile, summed up by a warp
//
// Each lane of a warp adds up eight counts, and shuffles carry the sums across the lanes. The wait
// at the barrier shrinks to a small part of it.
//
// /// kernelprof
// kernel = "equalise"
// block = [1024]
// grid = ["width // 64", "height // 64"]
// reference = "reference:equalise"
// min_bytes = "2 * width * height"
//
// [sizes]
// width = 8192
// height = 8192
//
// [check]
// sizes = { width = 256, height = 192 }
//
// [[arguments]]
// name = "image"
// type = "uint8"
// shape = ["height", "width"]
// fill = "reference:image"
//
// [[arguments]]
// name = "result"
// type = "uint8"
// shape = ["height", "width"]
// output = true
//
// [[arguments]]
// name = "width"
// type = "int32"
// value = "width"
//
// [compile]
// flags = ["-O3"]
// standard = "c++17"
// ///

constexpr int SIDE = 64;  // of a tile
constexpr int BINS = 256;

// Turns counts into sums of all counts up to each; called by one warp.
__device__ void sum_up(int* counts) {
    constexpr int EACH = BINS / 32;
    int* mine = counts + threadIdx.x * EACH;
    int sums[EACH];
    int sum = 0;
#pragma unroll
    for (int bin = 0; bin < EACH; ++bin) sums[bin] = sum += mine[bin];
    const int own = sum;
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
        const int other = __shfl_up_sync(~0u, sum, step);
        if (threadIdx.x >= step) sum += other;
    }
#pragma unroll
    for (int bin = 0; bin < EACH; ++bin) mine[bin] = sums[bin] + sum - own;
}

extern "C" __global__ void __launch_bounds__(1024)
    equalise(const uchar4* __restrict__ image, uchar4* __restrict__ result, int width) {
    __shared__ __align__(16) int counts[BINS];
    const int x = blockIdx.x * (SIDE / 4) + threadIdx.x % (SIDE / 4);
    const int y = blockIdx.y * SIDE + threadIdx.x / (SIDE / 4);
    const size_t at = static_cast<size_t>(y) * (width / 4) + x;
    const uchar4 pixels = image[at];
    if (threadIdx.x < BINS) counts[threadIdx.x] = 0;
    __syncthreads();
    atomicAdd(&counts[pixels.x], 1);
    atomicAdd(&counts[pixels.y], 1);
    atomicAdd(&counts[pixels.z], 1);
    atomicAdd(&counts[pixels.w], 1);
    __syncthreads();
    if (threadIdx.x < 32) sum_up(counts);
    __syncthreads();
    uchar4 level;
    level.x = counts[pixels.x] * 255 / (SIDE * SIDE);
    level.y = counts[pixels.y] * 255 / (SIDE * SIDE);
    level.z = counts[pixels.z] * 255 / (SIDE * SIDE);
    level.w = counts[pixels.w] * 255 / (SIDE * SIDE);
    result[at] = level;
}
