// Matrix times vector, the vector in shared memory
//
// Nearly all that passes L1 and L2 is the matrix, each element once, so that nothing hits there.
// There is nothing to hit: device memory delivers what has to be read.
//
// /// kernelprof
// kernel = "multiply"
// block = [256]
// grid = ["M // 16"]
// reference = "gemv"
// flops = "2 * M * N"
// min_bytes = "4 * M * N"
//
// [sizes]
// M = 16896
// N = 4096
//
// [check]
// sizes = { M = 256 }
//
// [[arguments]]
// name = "a"
// type = "float32"
// shape = ["M", "N"]
//
// [[arguments]]
// name = "x"
// type = "float32"
// shape = ["N"]
//
// [[arguments]]
// name = "y"
// type = "float32"
// shape = ["M"]
// output = true
//
// [compile]
// standard = "c++17"
// flags = ["-O3"]
// ///

constexpr int COLUMNS = 4096;
constexpr int WARPS = 8;
constexpr int ROWS = 2;  // for each warp

// y = A x, two rows for each warp.
extern "C" __global__ void __launch_bounds__(256) multiply(const float4* __restrict__ a,
                                                           const float4* __restrict__ x,
                                                           float* __restrict__ y) {
    __shared__ float4 copied[COLUMNS / 4];
#pragma unroll
    for (int k = 0; k < COLUMNS / 4; k += 32 * WARPS) copied[k + threadIdx.x] = x[k + threadIdx.x];
    __syncthreads();
    const float4* vector = copied;
    const int lane = threadIdx.x % 32;
    const int row = (blockIdx.x * WARPS + threadIdx.x / 32) * ROWS;
    const float4* upper = a + static_cast<size_t>(row) * (COLUMNS / 4);
    const float4* lower = upper + COLUMNS / 4;
    float above = 0.0f;
    float below = 0.0f;
#pragma unroll 4
    for (int k = 0; k < COLUMNS / 4; k += 32) {
        const float4 u = upper[k + lane];
        const float4 l = lower[k + lane];
        const float4 v = vector[k + lane];
        above += (u.x * v.x + u.y * v.y) + (u.z * v.z + u.w * v.w);
        below += (l.x * v.x + l.y * v.y) + (l.z * v.z + l.w * v.w);
    }
#pragma unroll
    for (int other = 16; other > 0; other /= 2) {
        above += __shfl_xor_sync(~0u, above, other);
        below += __shfl_xor_sync(~0u, below, other);
    }
    if (lane == 0) {
        y[row] = above;
        y[row + 1] = below;
    }
}
