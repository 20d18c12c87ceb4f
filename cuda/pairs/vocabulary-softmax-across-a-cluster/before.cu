// Softmax of rows of 65536, a cluster of eight blocks for each
//
// A row stays in the registers of eight blocks between the load and the store, so that it passes
// device memory once in each direction. The blocks tell each other their largest value and their
// sum through distributed shared memory, and wait for each other twice.
//
// /// kernelprof
// kernel = "softmax"
// block = [256]
// grid = [8, "M"]
// reference = "softmax"
// min_bytes = "8 * M * N"
//
// [sizes]
// M = 1056
// N = 65536
//
// [check]
// sizes = { M = 4 }
//
// [compile]
// standard = "c++17"
// flags = ["-O3"]
//
// [[arguments]]
// name = "x"
// type = "float32"
// shape = ["M", "N"]
//
// [[arguments]]
// name = "y"
// type = "float32"
// shape = ["M", "N"]
// output = true
// ///

#include <cooperative_groups.h>

constexpr int BLOCKS = 8;  // of a cluster
constexpr int COLUMNS = 65536;
constexpr int QUADS = COLUMNS / BLOCKS / 256 / 4;  // of a thread

// The largest value that two have seen, and the sum of exponentials over that one's.
__device__ float2 merged(float2 a, float2 b) {
    const float largest = fmaxf(a.x, b.x);
    return make_float2(largest, a.y * __expf(a.x - largest) + b.y * __expf(b.x - largest));
}

extern "C" __global__ void __cluster_dims__(BLOCKS, 1, 1) __launch_bounds__(256, 4)
    softmax(const float4* __restrict__ x, float4* __restrict__ y) {
    __shared__ float2 parts[8];
    __shared__ float2 whole;
    auto cluster = cooperative_groups::this_cluster();
    const int lane = threadIdx.x % 32;
    const int warp = threadIdx.x / 32;
    const size_t first = (static_cast<size_t>(blockIdx.y) * BLOCKS + blockIdx.x) * (QUADS * 256) +
                         threadIdx.x;
    float4 v[QUADS];
    float2 seen = make_float2(-3.4e38f, 0.0f);
#pragma unroll
    for (int q = 0; q < QUADS; ++q) v[q] = x[first + q * 256];
#pragma unroll
    for (int q = 0; q < QUADS; ++q) {
        seen.x = fmaxf(seen.x, fmaxf(fmaxf(v[q].x, v[q].y), fmaxf(v[q].z, v[q].w)));
    }
#pragma unroll
    for (int q = 0; q < QUADS; ++q) {
        v[q] = make_float4(__expf(v[q].x - seen.x), __expf(v[q].y - seen.x),
                           __expf(v[q].z - seen.x), __expf(v[q].w - seen.x));
        seen.y += (v[q].x + v[q].y) + (v[q].z + v[q].w);
    }
    const float mine = seen.x;
#pragma unroll
    for (int other = 16; other > 0; other /= 2) {
        seen = merged(seen, make_float2(__shfl_xor_sync(~0u, seen.x, other),
                                        __shfl_xor_sync(~0u, seen.y, other)));
    }
    if (lane == 0) parts[warp] = seen;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int w = 1; w < 8; ++w) seen = merged(seen, parts[w]);
        whole = seen;
    }
    cluster.sync();
    seen = whole;
#pragma unroll
    for (int step = 1; step < BLOCKS; ++step) {
        const int other = (blockIdx.x + step) % BLOCKS;
        seen = merged(seen, *cluster.map_shared_rank(&whole, other));
    }
    cluster.sync();
    const float scale = __expf(mine - seen.x) / seen.y;
#pragma unroll
    for (int q = 0; q < QUADS; ++q) {
        y[first + q * 256] =
            make_float4(v[q].x * scale, v[q].y * scale, v[q].z * scale, v[q].w * scale);
    }
}
