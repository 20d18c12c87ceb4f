// Low-pass filter of many sensor channels, samples stored in double precision
//
// A thread follows one channel through time; neighbouring threads read neighbouring channels.
// The filter computes in float, and half of the bytes that it reads and writes carry nothing.
//
// /// kernelprof
// kernel = "low_pass"
// block = [256]
// grid = ["channels // 256"]
// reference = "reference:low_pass"
// min_bytes = "8 * times * channels"
//
// [sizes]
// times = 128
// channels = 262144
//
// [check]
// sizes = { times = 48, channels = 4096 }
//
// [[arguments]]
// name = "samples"
// type = "float64"
// shape = ["times", "channels"]
//
// [[arguments]]
// name = "smooth"
// type = "float64"
// shape = ["times", "channels"]
// output = true
//
// [[arguments]]
// name = "channels"
// type = "int32"
// value = "channels"
//
// [[arguments]]
// name = "times"
// type = "int32"
// value = "times"
//
// [[arguments]]
// name = "weight"
// type = "float32"
// value = 0.125
//
// [compile]
// flags = ["-O3"]
// standard = "c++17"
// ///

using Sample = double;

extern "C" __global__ void __launch_bounds__(256)
    low_pass(const Sample* __restrict__ samples, Sample* __restrict__ smooth, int channels,
             int times, float weight) {
    const int channel = blockIdx.x * blockDim.x + threadIdx.x;
    float level = 0.0f;
#pragma unroll 8
    for (int time = 0; time < times; ++time) {
        const size_t at = static_cast<size_t>(time) * channels + channel;
        level += weight * (static_cast<float>(samples[at]) - level);
        smooth[at] = static_cast<Sample>(level);
    }
}
