// Running sums of many signals, each thread rakes its own 32 samples
//
// A block holds a signal of 4096 samples in shared memory. The lanes of a warp walk through pieces
// that are 32 words apart, all in the same bank.
//
// /// kernelprof
// kernel = "running_sums"
// block = [128]
// grid = ["count"]
// reference = "reference:running_sums"
// min_bytes = "32768 * count"
//
// [sizes]
// count = 4096
//
// [check]
// sizes = { count = 100 }
//
// [[arguments]]
// name = "signals"
// type = "float32"
// shape = ["count", 4096]
//
// [[arguments]]
// name = "sums"
// type = "float32"
// shape = ["count", 4096]
// output = true
//
// [compile]
// flags = ["-O3"]
// standard = "c++17"
// ///

constexpr int THREADS = 128;
constexpr int EACH = 32;  // samples to a thread
constexpr int LENGTH = THREADS * EACH;

__device__ int place(int i) {
    return i;
}

extern "C" __global__ void running_sums(const float* __restrict__ signals,
                                        float* __restrict__ sums) {
    __shared__ float samples[LENGTH];
    __shared__ float of_warps[THREADS / 32];
    const size_t first = static_cast<size_t>(blockIdx.x) * LENGTH;
#pragma unroll 8
    for (int k = threadIdx.x; k < LENGTH; k += THREADS) {
        samples[place(k)] = signals[first + k];
    }
    __syncthreads();

    float own = 0.0f;
#pragma unroll 8
    for (int k = 0; k < EACH; ++k) {
        own += samples[place(threadIdx.x * EACH + k)];
    }
    const int lane = threadIdx.x % 32;
    float up_to = own;
    for (int step = 1; step < 32; step *= 2) {
        const float other = __shfl_up_sync(0xffffffffu, up_to, step);
        if (lane >= step) {
            up_to += other;
        }
    }
    if (lane == 31) {
        of_warps[threadIdx.x / 32] = up_to;
    }
    __syncthreads();

    float running = up_to - own;
    for (int warp = 0; warp < threadIdx.x / 32; ++warp) {
        running += of_warps[warp];
    }
#pragma unroll 8
    for (int k = 0; k < EACH; ++k) {
        running += samples[place(threadIdx.x * EACH + k)];
        samples[place(threadIdx.x * EACH + k)] = running;
    }
    __syncthreads();
#pragma unroll 8
    for (int k = threadIdx.x; k < LENGTH; k += THREADS) {
        sums[first + k] = samples[place(k)];
    }
}
