// Equalizer, gains in shared memory
//
// No local memory is left. Device memory is as busy as before.
//
// /// kernelprof
// kernel = "equalize"
// block = [256]
// grid = ["BINS // 256", "FRAMES // 128"]
// reference = "reference:equalize"
// min_bytes = "8 * BINS * FRAMES"
//
// [sizes]
// BINS = 8448
// FRAMES = 3072
//
// [check]
// sizes = { BINS = 512, FRAMES = 256 }
//
// [[arguments]]
// name = "spectra"
// type = "float32"
// shape = ["FRAMES", "BINS"]
//
// [[arguments]]
// name = "curves"
// type = "float32"
// shape = [8, 4]
//
// [[arguments]]
// name = "program"
// type = "int32"
// shape = ["FRAMES"]
// fill = "reference:programs"
//
// [[arguments]]
// name = "result"
// type = "float32"
// shape = ["FRAMES", "BINS"]
// output = true
//
// [[arguments]]
// name = "bins"
// type = "int32"
// value = "BINS"
//
// [[arguments]]
// name = "programs"
// type = "int32"
// value = 8
//
// [compile]
// standard = "c++17"
// flags = ["-O3"]
// ///

constexpr int PROGRAMS = 8;  // at most
constexpr int EACH = 128;    // frames of a block

// Each frame of a spectrogram is weighed by the program it belongs to. A thread has one frequency
// and works out its gain in every program beforehand.
extern "C" __global__ void __launch_bounds__(256) equalize(const float* __restrict__ spectra,
                                                           const float4* __restrict__ curves,
                                                           const int* __restrict__ program,
                                                           float* __restrict__ result, int bins,
                                                           int programs) {
    __shared__ float gain[PROGRAMS][256];
    const int bin = blockIdx.x * blockDim.x + threadIdx.x;
    const float t = static_cast<float>(bin) / bins;
    for (int p = 0; p < programs; ++p) {
        const float4 c = curves[p];
        gain[p][threadIdx.x] = fmaf(fmaf(fmaf(c.w, t, c.z), t, c.y), t, c.x);
    }
    const int first = blockIdx.y * EACH;
#pragma unroll 8
    for (int frame = first; frame < first + EACH; ++frame) {
        const size_t i = static_cast<size_t>(frame) * bins + bin;
        result[i] = gain[program[frame]][threadIdx.x] * spectra[i];
    }
}
