// Energy of channels, 33 blocks that read row by row
//
// Neighbouring threads read 4 KB apart, so that a request takes 32 turns in L1, and only 33 of 132
// SMs have a block that does so. Reading in order would help, and so would more blocks.
//
// /// kernelprof
// kernel = "energies"
// block = [512]
// grid = ["CHANNELS // 512"]
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
