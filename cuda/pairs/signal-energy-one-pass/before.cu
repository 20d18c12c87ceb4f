// Energy of a signal: the sum of its squares in one pass
//
// A block adds up 8192 samples, with several vector loads a thread under way, first in registers,
// then in the warp, then in the block, and ends with a single atomic addition.
//
// /// kernelprof
// kernel = "energy"
// block = [256]
// grid = ["N // 8192"]
// reference = "reference:energy"
// flops = "2 * N"
// min_bytes = "4 * N"
//
// [sizes]
// N = 67108864
//
// [check]
// sizes = { N = 1048576 }
//
// [[arguments]]
// name = "signal"
// type = "float32"
// shape = ["N"]
//
// [[arguments]]
// name = "total"
// type = "float32"
// shape = [1]
// fill = "zeros"
// output = true
//
// [compile]
// standard = "c++17"
// flags = ["-O3"]
// ///

constexpr int LOADS = 8;

extern "C" __global__ void energy(const float4* __restrict__ signal, float* __restrict__ total) {
    __shared__ float of_warp[8];
    const float4* mine =
        signal + static_cast<size_t>(blockIdx.x) * (LOADS * 256) + threadIdx.x;
    float4 sample[LOADS];
#pragma unroll
    for (int k = 0; k < LOADS; ++k) sample[k] = mine[k * 256];
    float sum = 0.0f;
#pragma unroll
    for (int k = 0; k < LOADS; ++k) {
        sum += sample[k].x * sample[k].x + sample[k].y * sample[k].y + sample[k].z * sample[k].z +
               sample[k].w * sample[k].w;
    }
#pragma unroll
    for (int other = 16; other > 0; other /= 2) sum += __shfl_xor_sync(~0u, sum, other);
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
#pragma unroll
        for (int warp = 1; warp < 8; ++warp) sum += of_warp[warp];
        atomicAdd(total, sum);
    }
}
