// FIR filter of 128 taps, samples and taps in shared memory, four outputs a thread
//
// A thread holds eight samples in registers, and reads four new ones and four taps, 16 bytes
// each, for sixteen FMAs. The 16-byte reads of a warp are neighbours as well.
//
// /// kernelprof
// kernel = "fir"
// block = [256]
// grid = ["length // 1024", "channels"]
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
constexpr int OUTPUTS = 4 * THREADS;  // of a block

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
    const float4* quads = reinterpret_cast<const float4*>(window) + threadIdx.x;
    const float4* tap4 = reinterpret_cast<const float4*>(tap);
    float sums[4] = {};
    float4 now = quads[0];
#pragma unroll 8
    for (int k = 0; k < TAPS / 4; ++k) {
        const float4 next = quads[k + 1];
        const float4 t = tap4[k];
        const float x[8] = {now.x, now.y, now.z, now.w, next.x, next.y, next.z, next.w};
        const float h[4] = {t.x, t.y, t.z, t.w};
#pragma unroll
        for (int i = 0; i < 4; ++i) {
#pragma unroll
            for (int j = 0; j < 4; ++j) sums[j] += h[i] * x[i + j];
        }
        now = next;
    }
    reinterpret_cast<float4*>(result)[threadIdx.x] =
        make_float4(sums[0], sums[1], sums[2], sums[3]);
}
