// Layer normalization, a warp for each row of 1024
//
// A row stays in the registers of its warp between the load and the store, so that it passes device
// memory once in each direction. Shuffles add up; there is no shared memory and no barrier.
//
// /// kernelprof
// kernel = "layer_norm"
// block = [256]
// grid = ["M // 8"]
// reference = "reference:layer_norm"
// min_bytes = "8 * M * N"
//
// [sizes]
// M = 32768
// N = 1024
//
// [check]
// sizes = { M = 512 }
//
// [[arguments]]
// name = "x"
// type = "float32"
// shape = ["M", "N"]
//
// [[arguments]]
// name = "gain"
// type = "float32"
// shape = ["N"]
//
// [[arguments]]
// name = "bias"
// type = "float32"
// shape = ["N"]
//
// [[arguments]]
// name = "y"
// type = "float32"
// shape = ["M", "N"]
// output = true
//
// [compile]
// standard = "c++17"
// flags = ["-O3"]
// ///

constexpr int COLUMNS = 1024;
constexpr int QUADS = COLUMNS / 128;

__device__ float warp_sum(float value) {
#pragma unroll
    for (int other = 16; other > 0; other /= 2) value += __shfl_xor_sync(~0u, value, other);
    return value;
}

extern "C" __global__ void layer_norm(const float4* __restrict__ x,
                                      const float4* __restrict__ gain,
                                      const float4* __restrict__ bias, float4* __restrict__ y) {
    const int lane = threadIdx.x % 32;
    const size_t row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    const float4* from = x + row * (COLUMNS / 4) + lane;
    float4 v[QUADS];
#pragma unroll
    for (int q = 0; q < QUADS; ++q) v[q] = from[q * 32];
    float sum = 0.0f;
#pragma unroll
    for (int q = 0; q < QUADS; ++q) sum += (v[q].x + v[q].y) + (v[q].z + v[q].w);
    const float mean = warp_sum(sum) * (1.0f / COLUMNS);
    float squares = 0.0f;
#pragma unroll
    for (int q = 0; q < QUADS; ++q) {
        v[q] = make_float4(v[q].x - mean, v[q].y - mean, v[q].z - mean, v[q].w - mean);
        squares += v[q].x * v[q].x + v[q].y * v[q].y + v[q].z * v[q].z + v[q].w * v[q].w;
    }
    const float scale = rsqrtf(warp_sum(squares) * (1.0f / COLUMNS) + 1e-5f);
    float4* to = y + row * (COLUMNS / 4) + lane;
#pragma unroll
    for (int q = 0; q < QUADS; ++q) {
        const float4 g = gain[q * 32 + lane];
        const float4 b = bias[q * 32 + lane];
        to[q * 32] = make_float4(v[q].x * scale * g.x + b.x, v[q].y * scale * g.y + b.y,
                                 v[q].z * scale * g.z + b.z, v[q].w * scale * g.w + b.w);
    }
}
