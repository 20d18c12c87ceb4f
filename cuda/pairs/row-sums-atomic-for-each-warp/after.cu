// Row sums, an atomic addition for each block
//
// One in 65 requests is an atomic addition. The rows take as long to read as before.
//
// /// kernelprof
// kernel = "add_rows"
// block = [256]
// grid = ["8 * ROWS"]
// reference = "reference:add_rows"
// min_bytes = "262144 * ROWS"
//
// [sizes]
// ROWS = 1056
//
// [check]
// sizes = { ROWS = 16 }
// tolerance = 1e-4
//
// [[arguments]]
// name = "a"
// type = "float32"
// shape = ["ROWS", 65536]
//
// [[arguments]]
// name = "sums"
// type = "float32"
// shape = ["ROWS"]
// fill = "zeros"
// output = true
//
// [compile]
// standard = "c++17"
// flags = ["-O3"]
// ///

constexpr int LOADS = 8;  // of four floats, for each thread
constexpr int SLICES = 8;

// The sum of each row of 65,536 floats, eight blocks for each.
extern "C" __global__ void __launch_bounds__(256) add_rows(const float4* __restrict__ a,
                                                           float* __restrict__ sums) {
    __shared__ float of_warp[8];
    const float4* mine = a + static_cast<size_t>(blockIdx.x) * (LOADS * 256) + threadIdx.x;
    float4 v[LOADS];
#pragma unroll
    for (int k = 0; k < LOADS; ++k) v[k] = mine[k * 256];
    float sum = 0.0f;
#pragma unroll
    for (int k = 0; k < LOADS; ++k) sum += (v[k].x + v[k].y) + (v[k].z + v[k].w);
#pragma unroll
    for (int other = 16; other > 0; other /= 2) sum += __shfl_xor_sync(~0u, sum, other);
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
#pragma unroll
        for (int warp = 1; warp < 8; ++warp) sum += of_warp[warp];
        atomicAdd(&sums[blockIdx.x / SLICES], sum);
    }
}
