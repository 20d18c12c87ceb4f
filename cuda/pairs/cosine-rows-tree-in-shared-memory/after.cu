// First 32 cosine coefficients of each row, summed by shuffles
//
// Warps sum their 32 values by shuffles, and one warp the 32 results: two barriers a sum.
//
// /// kernelprof
// kernel = "cosine_transform"
// block = [1024]
// grid = ["rows"]
// reference = "reference:cosine_transform"
// min_bytes = "4 * rows * (1024 + 32)"
//
// [sizes]
// rows = 8192
//
// [check]
// sizes = { rows = 40 }
//
// [[arguments]]
// name = "samples"
// type = "float32"
// shape = ["rows", 1024]
//
// [[arguments]]
// name = "waves"
// type = "float32"
// shape = ["rows", 32]
// output = true
//
// [compile]
// flags = ["-O3"]
// standard = "c++17"
// ///

constexpr int LENGTH = 1024;  // samples of a row, and threads of a block
constexpr int WAVES = 32;

// The sum over the block, in its first thread.
__device__ float warp_sum(float value) {
#pragma unroll
    for (int half = 16; half > 0; half /= 2) value += __shfl_down_sync(~0u, value, half);
    return value;
}

__device__ float block_sum(float value, float* parts) {
    value = warp_sum(value);
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = value;
    __syncthreads();
    if (threadIdx.x < 32) value = warp_sum(parts[threadIdx.x]);
    __syncthreads();
    return value;
}

extern "C" __global__ void __launch_bounds__(LENGTH)
    cosine_transform(const float* __restrict__ samples, float* __restrict__ waves) {
    __shared__ float parts[LENGTH / 32];
    const float sample = samples[static_cast<size_t>(blockIdx.x) * LENGTH + threadIdx.x];
    const float twice = 2.0f * cospif((threadIdx.x + 0.5f) / LENGTH);
    float before = 0.5f * twice;  // cos(-a), cos(0), cos(a), ... by Chebyshev's recurrence
    float cosine = 1.0f;
#pragma unroll 1
    for (int wave = 0; wave < WAVES; ++wave) {
        const float sum = block_sum(sample * cosine, parts);
        if (threadIdx.x == 0) waves[static_cast<size_t>(blockIdx.x) * WAVES + wave] = sum;
        const float next = fmaf(twice, cosine, -before);
        before = cosine;
        cosine = next;
    }
}
