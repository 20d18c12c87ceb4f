// Polynomial correction of many channels, through pointers that may overlap
//
// A thread corrects 64 samples of a channel with the same 16 coefficients. As far as the compiler
// knows, each result that is stored may change them: they are loaded again, from L1, every time.
//
// /// kernelprof
// kernel = "calibrate"
// block = [256]
// grid = ["channels // 256", "times // 64"]
// reference = "reference:calibrate"
// flops = "2 * 15 * times * channels"
// min_bytes = "4 * times * channels + 64 * channels"
//
// [sizes]
// times = 4096
// channels = 8192
//
// [check]
// sizes = { times = 128, channels = 1024 }
// tolerance = 0.001
//
// [[arguments]]
// name = "coefficients"
// type = "float32"
// shape = [16, "channels"]
//
// [[arguments]]
// name = "samples"
// type = "float16"
// shape = ["times", "channels"]
//
// [[arguments]]
// name = "corrected"
// type = "float16"
// shape = ["times", "channels"]
// output = true
//
// [[arguments]]
// name = "channels"
// type = "int32"
// value = "channels"
//
// [compile]
// flags = ["-O3"]
// standard = "c++17"
// ///

#include <cuda_fp16.h>

constexpr int TERMS = 16;  // coefficients of a channel
constexpr int CHUNK = 64;  // samples of a channel that a thread corrects
constexpr int AHEAD = 4;   // of them loaded at a time

extern "C" __global__ void __launch_bounds__(256)
    calibrate(const float* coefficients, const __half* samples, __half* corrected, int channels) {
    const int channel = blockIdx.x * blockDim.x + threadIdx.x;
    const float* own = coefficients + channel;
    const size_t first = static_cast<size_t>(blockIdx.y) * CHUNK * channels + channel;
    for (int time = 0; time < CHUNK; time += AHEAD) {
        const size_t at = first + static_cast<size_t>(time) * channels;
        float x[AHEAD];
#pragma unroll
        for (int i = 0; i < AHEAD; ++i) x[i] = __half2float(samples[at + i * channels]);
#pragma unroll
        for (int i = 0; i < AHEAD; ++i) {
            float y = own[(TERMS - 1) * channels];
#pragma unroll
            for (int k = TERMS - 2; k >= 0; --k) y = y * x[i] + own[k * channels];
            corrected[at + i * channels] = __float2half(y);
        }
    }
}
