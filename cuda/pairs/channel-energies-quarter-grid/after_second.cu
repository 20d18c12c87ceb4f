// Energy of channels, a block for each SM
//
// Blocks of 128 threads spread the same threads over all SMs. They still read 4 KB apart.
//
// /// kernelprof
// kernel = "energies"
// block = [128]
// grid = ["CHANNELS // 128"]
// reference = "reference:energies"
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
// shape = ["CHANNELS", "1024"]
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
        const float sample = signal[static_cast<size_t>(channel) * SAMPLES + k];
        sum = fmaf(sample, sample, sum);
    }
    energy[channel] = sum;
}
