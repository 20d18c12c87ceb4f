// First 32 cosine coefficients of each row, summed by a tree in shared memory
//
// A block of 1024 threads holds a row and sums it 32 times. Each sum takes ten steps with a barrier
// after each, in which half of the warps, then a quarter, then one has something to add: the others
// wait for it.
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
__device__ float block_sum(float value, float* parts) {
    parts[threadIdx.x] = value;
    __syncthreads();
#pragma unroll
    for (int half = LENGTH / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) parts[threadIdx.x] += parts[threadIdx.x + half];
        __syncthreads();
    }
    return parts[0];
}

extern "C" __global__ void __launch_bounds__(LENGTH)
    cosine_transform(const float* __restrict__ samples, float* __restrict__ waves) {
    __shared__ float parts[LENGTH];
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
