// Beams from picked channels, with an address in 64 bits for each sample
//
// A beam sums 32 of 64 channels, whose readings are corrected first and lie in L1. For each of them
// every thread makes an address of panel, channel and pitch with multiplications in 64 bits: twice
// the issue slots that the floating-point operations take.
//
// /// kernelprof
// kernel = "sum_channels"
// block = [256]
// grid = ["beams // 8", "samples // 256"]
// reference = "reference:sum_channels"
// flops = "10 * 32 * beams * samples"
// min_bytes = "4 * (2 * beams + panels * in_panel) * samples + 8 * 32 * beams"
//
// [sizes]
// beams = 8192
// samples = 1024
// panels = 4
// in_panel = 16
//
// [check]
// sizes = { beams = 32, samples = 512, panels = 4, in_panel = 16 }
//
// [[arguments]]
// name = "channels"
// type = "float32"
// shape = ["panels", "in_panel", "samples"]
//
// [[arguments]]
// name = "picks"
// type = "int32"
// shape = ["beams", 32]
// fill = "reference:picks"
//
// [[arguments]]
// name = "gains"
// type = "float32"
// shape = ["beams", 32]
//
// [[arguments]]
// name = "sums"
// type = "float32"
// shape = ["beams", "samples"]
// output = true
//
// [[arguments]]
// name = "powers"
// type = "float32"
// shape = ["beams", "samples"]
// output = true
//
// [[arguments]]
// name = "in_panel"
// type = "int64"
// value = "in_panel"
//
// [[arguments]]
// name = "pitch"
// type = "int64"
// value = "samples"
//
// [compile]
// flags = ["-O3"]
// standard = "c++17"
// ///

constexpr int TERMS = 32;    // channels that make up a beam
constexpr int BEAMS = 8;     // beams of a block
constexpr int SAMPLES = 256;

struct Term {
    float gain;
    int pick;  // panel in the upper half, channel in the lower
};

// What a receiver that saturates has put in for a reading.
__device__ float corrected(float raw) {
    const float square = raw * raw;
    return raw * fmaf(square, fmaf(square, 0.05f, 0.2f), 1.0f);
}

extern "C" __global__ void __launch_bounds__(SAMPLES)
    sum_channels(const float* __restrict__ channels, const int* __restrict__ picks,
                 const float* __restrict__ gains, float* __restrict__ sums,
                 float* __restrict__ powers, long long in_panel, long long pitch) {
    __shared__ __align__(16) Term terms[BEAMS][TERMS];
    const int first = blockIdx.x * BEAMS;
    const int from = first * TERMS + threadIdx.x;
    terms[threadIdx.x / TERMS][threadIdx.x % TERMS] = {gains[from], picks[from]};
    __syncthreads();

    const long long sample = blockIdx.y * SAMPLES + threadIdx.x;
    for (int beam = 0; beam < BEAMS; ++beam) {
        float sum = 0.0f;
        float power = 0.0f;
#pragma unroll 8
        for (int k = 0; k < TERMS; ++k) {
            const Term use = terms[beam][k];
            const long long panel = use.pick >> 16;
            const long long channel = use.pick & 0xffff;
            const float raw = channels[(panel * in_panel + channel) * pitch + sample];
            const float v = use.gain * corrected(raw);
            sum += v;
            power = fmaf(v, v, power);
        }
        sums[(first + beam) * pitch + sample] = sum;
        powers[(first + beam) * pitch + sample] = power;
    }
}
