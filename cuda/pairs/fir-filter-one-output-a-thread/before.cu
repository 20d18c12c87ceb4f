// FIR filter of 128 taps, samples and taps in shared memory, one output a thread
//
// For each FMA a thread reads a sample of its own from shared memory, and for four of them a
// vector of taps. The samples of a warp are neighbours: there are no bank conflicts.
//
// /// kernelprof
// kernel = "fir"
// block = [256]
// grid = ["length // 256", "channels"]
// reference = "reference:fir"
// flops = "256 * channels * length"
// min_bytes = "8 * channels * length"
//
// [sizes]
// channels = 64
// length = 262144
//
// [check]
// sizes = { channels = 3, length = 8192 }
//
// [[arguments]]
// name = "samples"
// type = "float32"
// shape = ["channels", "length + 128"]
//
// [[arguments]]
// name = "taps"
// type = "float32"
// shape = [128]
//
// [[arguments]]
// name = "filtered"
// type = "float32"
// shape = ["channels", "length"]
// output = true
//
// [[arguments]]
// name = "length"
// type = "int32"
// value = "length"
//
// [compile]
// flags = ["-O3"]
// standard = "c++17"
// ///

constexpr int THREADS = 256;
constexpr int TAPS = 128;
constexpr int OUTPUTS = THREADS;  // of a block

extern "C" __global__ void __launch_bounds__(THREADS)
    fir(const float* __restrict__ samples, const float* __restrict__ taps,
        float* __restrict__ filtered, int length) {
    __shared__ __align__(16) float window[OUTPUTS + TAPS];
    __shared__ __align__(16) float tap[TAPS];
    const int first = blockIdx.x * OUTPUTS;
    const float* channel = samples + static_cast<size_t>(blockIdx.y) * (length + TAPS) + first;
    for (int i = threadIdx.x; i < OUTPUTS + TAPS; i += THREADS) window[i] = channel[i];
    for (int i = threadIdx.x; i < TAPS; i += THREADS) tap[i] = taps[i];
    __syncthreads();

    float* result = filtered + static_cast<size_t>(blockIdx.y) * length + first;
    float sum = 0.0f;
#pragma unroll 32
    for (int k = 0; k < TAPS; ++k) sum += tap[k] * window[threadIdx.x + k];
    result[threadIdx.x] = sum;
}
