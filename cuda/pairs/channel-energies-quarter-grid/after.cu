// Energy of channels, 33 blocks that read in order
//
// The signals are interleaved, so that a warp reads whole lines. Three of four SMs still have no
// block.
//
// /// kernelprof
// kernel = "energies"
// block = [512]
// grid = ["CHANNELS // 512"]
// reference = "reference:energies_interleaved"
// min_bytes = "4096 * CHANNELS"
//
// [sizes]
// CHANNELS = 16896
//
// [check]
// sizes = { CHANNELS = 1024 }
//
// [[arguments]]
// name = "signal"
// type = "float32"
// shape = ["1024", "CHANNELS"]
//
// [[arguments]]
// name = "energy"
// type = "float32"
// shape = ["CHANNELS"]
// output = true
//
// [[arguments]]
// name = "channels"
// type = "int32"
// value = "CHANNELS"
//
// [compile]
// standard = "c++17"
// flags = ["-O3"]
// ///

constexpr int SAMPLES = 1024;

// The energy of each channel, a thread for each.
extern "C" __global__ void energies(const float* __restrict__ signal, float* __restrict__ energy,
                                    int channels) {
    const int channel = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f;
#pragma unroll 4
    for (int k = 0; k < SAMPLES; ++k) {
        const float sample = signal[static_cast<size_t>(k) * channels + channel];
        sum = fmaf(sample, sample, sum);
    }
    energy[channel] = sum;
}
