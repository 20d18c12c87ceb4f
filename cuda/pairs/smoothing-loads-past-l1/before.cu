// Savitzky-Golay smoothing of many channels, with loads that bypass L1
//
// Each result takes 17 samples of its channel, 16 of which the thread has read for the result
// before. -dlcm=cg, from a time when L1 was off by default, sends all 17 reads to L2.
//
// /// kernelprof
// kernel = "smooth"
// block = [256]
// grid = ["channels // 256", "times // 16"]
// reference = "reference:smooth"
// min_bytes = "4 * channels * (2 * times + 16)"
//
// [sizes]
// times = 256
// channels = 16384
//
// [check]
// sizes = { times = 64, channels = 1024 }
//
// [[arguments]]
// name = "samples"
// type = "float32"
// shape = ["times + 16", "channels"]
//
// [[arguments]]
// name = "smoothed"
// type = "float32"
// shape = ["times", "channels"]
// output = true
//
// [[arguments]]
// name = "channels"
// type = "int32"
// value = "channels"
//
// [compile]
// flags = ["-O3", "-Xptxas=-dlcm=cg"]
// standard = "c++17"
// ///

constexpr int REACH = 8;   // samples before and after
constexpr int CHUNK = 16;  // samples of a channel that a thread smooths

// Weight of the sample at that distance in a parabola fitted to 2 * REACH + 1 samples.
__device__ constexpr float weight(int distance) {
    return 3.0f * (3 * REACH * REACH + 3 * REACH - 1 - 5 * distance * distance) /
           ((2 * REACH - 1) * (2 * REACH + 1) * (2 * REACH + 3));
}

extern "C" __global__ void __launch_bounds__(256)
    smooth(const float* samples, float* smoothed, int channels) {
    const int channel = blockIdx.x * blockDim.x + threadIdx.x;
    const float* window = samples + static_cast<size_t>(blockIdx.y) * CHUNK * channels + channel;
    float* result = smoothed + static_cast<size_t>(blockIdx.y) * CHUNK * channels + channel;
    for (int time = 0; time < CHUNK; ++time) {
        float value = 0.0f;
#pragma unroll
        for (int k = 0; k <= 2 * REACH; ++k) value += weight(k - REACH) * window[k * channels];
        *result = value;
        window += channels;
        result += channels;
    }
}
