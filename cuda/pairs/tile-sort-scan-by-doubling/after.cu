// Sort tiles of 1024 keys bit by bit, with scans by shuffles
//
// Warps scan their 32 values by shuffles, one warp scans the 32 totals: three barriers a scan.
//
// /// kernelprof
// kernel = "sort_tiles"
// block = [1024]
// grid = ["tiles"]
// reference = "reference:sort_tiles"
// min_bytes = "8 * 1024 * tiles"
//
// [sizes]
// tiles = 8192
//
// [check]
// sizes = { tiles = 12 }
//
// [[arguments]]
// name = "keys"
// type = "int32"
// shape = ["tiles", 1024]
// fill = "reference:keys"
//
// [[arguments]]
// name = "sorted"
// type = "int32"
// shape = ["tiles", 1024]
// output = true
//
// [compile]
// flags = ["-O3"]
// standard = "c++17"
// ///

constexpr int KEYS = 1024;  // of a tile, and threads of a block
constexpr int BITS = 16;

// Sum of the values of this thread and those before it; sums[KEYS - 1] ends as the whole.
__device__ int warp_sum(int value) {
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
        const int other = __shfl_up_sync(~0u, value, step);
        if (threadIdx.x % 32 >= step) value += other;
    }
    return value;
}

__device__ int inclusive_sum(int value, int* sums) {
    __shared__ int warps[KEYS / 32];
    value = warp_sum(value);
    if (threadIdx.x % 32 == 31) warps[threadIdx.x / 32] = value;
    __syncthreads();
    if (threadIdx.x < 32) warps[threadIdx.x] = warp_sum(warps[threadIdx.x]);
    __syncthreads();
    if (threadIdx.x >= 32) value += warps[threadIdx.x / 32 - 1];
    if (threadIdx.x == KEYS - 1) sums[KEYS - 1] = value;
    __syncthreads();
    return value;
}

extern "C" __global__ void __launch_bounds__(KEYS)
    sort_tiles(const int* __restrict__ keys, int* __restrict__ sorted) {
    __shared__ int sums[KEYS];
    __shared__ int places[KEYS];
    const size_t at = static_cast<size_t>(blockIdx.x) * KEYS + threadIdx.x;
    const int own = threadIdx.x;
    int key = keys[at];
#pragma unroll 1
    for (int bit = 0; bit < BITS; ++bit) {
        const int one = key >> bit & 1;
        const int zeros = inclusive_sum(1 - one, sums);
        // Keys with a zero keep their order at the front, those with a one behind them.
        places[one ? sums[KEYS - 1] + own - zeros : zeros - 1] = key;
        __syncthreads();
        key = places[own];
    }
    sorted[at] = key;
}
