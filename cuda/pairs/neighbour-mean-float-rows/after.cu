// Mean of the neighbours' features of each node of a graph, features as halves
//
// A warp reads the whole row of each of 32 neighbours. A row of halves is 256 bytes, so every
// edge of the graph takes half of the bytes out of L2.
//
// /// kernelprof
// kernel = "neighbour_mean"
// block = [256]
// grid = ["nodes // 8"]
// reference = "reference:neighbour_mean"
// min_bytes = "nodes * (2 * 128 + 4 * 32 + 4 * 128)"
//
// [sizes]
// nodes = 32768
//
// [check]
// sizes = { nodes = 2048 }
//
// [[arguments]]
// name = "features"
// type = "float16"
// shape = ["nodes", 128]
//
// [[arguments]]
// name = "neighbours"
// type = "int32"
// shape = ["nodes", 32]
// fill = "reference:neighbours"
//
// [[arguments]]
// name = "means"
// type = "float32"
// shape = ["nodes", 128]
// output = true
//
// [compile]
// flags = ["-O3"]
// standard = "c++17"
// ///

#include <cuda_fp16.h>

constexpr int FEATURES = 128;   // of a node, four a lane
constexpr int NEIGHBOURS = 32;  // of a node, one a lane

using Feature = __half;

__device__ float4 four_of(const Feature* row, int lane) {
    const uint2 bits = reinterpret_cast<const uint2*>(row)[lane];
    const float2 low = __half22float2(reinterpret_cast<const __half2&>(bits.x));
    const float2 high = __half22float2(reinterpret_cast<const __half2&>(bits.y));
    return make_float4(low.x, low.y, high.x, high.y);
}

extern "C" __global__ void __launch_bounds__(256)
    neighbour_mean(const Feature* __restrict__ features, const int* __restrict__ neighbours,
                   float* __restrict__ means) {
    const int node = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    const int lane = threadIdx.x % 32;
    const int mine = neighbours[node * NEIGHBOURS + lane];
    float4 sum = {};
#pragma unroll 8
    for (int k = 0; k < NEIGHBOURS; ++k) {
        const int other = __shfl_sync(0xffffffffu, mine, k);
        const float4 value = four_of(features + static_cast<size_t>(other) * FEATURES, lane);
        sum.x += value.x;
        sum.y += value.y;
        sum.z += value.z;
        sum.w += value.w;
    }
    constexpr float SHARE = 1.0f / NEIGHBOURS;
    reinterpret_cast<float4*>(means + static_cast<size_t>(node) * FEATURES)[lane] =
        make_float4(SHARE * sum.x, SHARE * sum.y, SHARE * sum.z, SHARE * sum.w);
}
