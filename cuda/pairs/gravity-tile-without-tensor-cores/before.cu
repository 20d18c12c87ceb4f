// Gravity between bodies, sources in tiles
//
// Twelve FP32 operations and one reciprocal root for each pair fill the FP32 pipe. The tensor cores
// are idle, and have to be: there is no matrix product in it.
//
// /// kernelprof
// kernel = "attract"
// block = [256]
// grid = ["N // 512"]
// reference = "reference:attract"
// flops = "18 * N * SOURCES"
//
// [sizes]
// N = 811008
// SOURCES = 2048
//
// [check]
// sizes = { N = 1024, SOURCES = 512 }
// tolerance = 1e-4
//
// [[arguments]]
// name = "bodies"
// type = "float32"
// shape = ["N", 4]
//
// [[arguments]]
// name = "sources"
// type = "float32"
// shape = ["SOURCES", 4]
//
// [[arguments]]
// name = "acceleration"
// type = "float32"
// shape = ["N", 4]
// output = true
//
// [[arguments]]
// name = "count"
// type = "int32"
// value = "SOURCES"
//
// [compile]
// standard = "c++17"
// flags = ["-O3", "--use_fast_math"]
// ///

constexpr int TILE = 256;
constexpr int BODIES = 2;  // for each thread

// The acceleration of each body by all sources; (x, y, z, mass).
extern "C" __global__ void __launch_bounds__(256) attract(const float4* __restrict__ bodies,
                                                          const float4* __restrict__ sources,
                                                          float4* __restrict__ acceleration,
                                                          int count) {
    __shared__ float4 tile[TILE];
    const int first = blockIdx.x * (BODIES * 256) + threadIdx.x;
    float4 mine[BODIES];
    float3 sum[BODIES];
#pragma unroll
    for (int b = 0; b < BODIES; ++b) {
        mine[b] = bodies[first + b * 256];
        sum[b] = make_float3(0.0f, 0.0f, 0.0f);
    }
    for (int start = 0; start < count; start += TILE) {
        __syncthreads();
        tile[threadIdx.x] = sources[start + threadIdx.x];
        __syncthreads();
#pragma unroll 8
        for (int k = 0; k < TILE; ++k) {
            const float4 source = tile[k];
#pragma unroll
            for (int b = 0; b < BODIES; ++b) {
                const float x = source.x - mine[b].x;
                const float y = source.y - mine[b].y;
                const float z = source.z - mine[b].z;
                const float inverse = rsqrtf(fmaf(x, x, fmaf(y, y, fmaf(z, z, 0.01f))));
                const float pull = source.w * inverse * (inverse * inverse);
                sum[b].x = fmaf(pull, x, sum[b].x);
                sum[b].y = fmaf(pull, y, sum[b].y);
                sum[b].z = fmaf(pull, z, sum[b].z);
            }
        }
    }
#pragma unroll
    for (int b = 0; b < BODIES; ++b) {
        acceleration[first + b * 256] = make_float4(sum[b].x, sum[b].y, sum[b].z, 0.0f);
    }
}
