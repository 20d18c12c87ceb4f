// /// factors
// title = "Power of 2048 beams from an array of 64 antennas"
// kind = "both pay"
// expect = "64 blocks; each warp waits for sines and for 32-way conflicts one after the other."
//
// [causes.A]
// bottleneck = "small-grid"
// fix = "Divide the time steps of a beam among 16 times as many blocks."
//
// [causes.B]
// bottleneck = "sfu-throughput"
// fix = "Turn the phase by one complex product from antenna to antenna instead of a sine and a cosine each."
//
// [causes.C]
// bottleneck = "shared-bank-conflicts"
// fix = "Pad the 64 samples of a time step in shared memory to 65."
// ///
#include "common.cuh"

constexpr int kBeams = 2048, kAntennas = 64, kTimes = 512, kThreads = 128;
#ifdef FIX_A
constexpr int kParts = 16;
#else
constexpr int kParts = 1;
#endif
#ifdef FIX_C
constexpr int kPitch = kAntennas + 1;
#else
constexpr int kPitch = kAntennas;
#endif
constexpr int kTile = 32;

// A warp has one beam at a time, a lane one time step of the tile.
__global__ void __launch_bounds__(kThreads) k(const float* samples, const float* angles, float* power) {
    __shared__ float tile[kTile * kPitch];
    const int t = threadIdx.x % 32, warp = threadIdx.x / 32;
    constexpr int kSteps = kTimes / kParts;
    for (int first = blockIdx.y * kSteps; first < (int(blockIdx.y) + 1) * kSteps; first += kTile) {
        __syncthreads();
        for (int e = threadIdx.x; e < kTile * kAntennas; e += kThreads) {
            tile[e / kAntennas * kPitch + e % kAntennas] = samples[first * kAntennas + e];
        }
        __syncthreads();
        for (int b = warp; b < 32; b += kThreads / 32) {
            const int beam = blockIdx.x * 32 + b;
            const float angle = angles[beam] * (1.0f + 0.0001f * t);
            float re = 0.0f, im = 0.0f, c = 1.0f, s = 0.0f, dc, ds;
            __sincosf(angle, &ds, &dc);
            for (int a = 0; a < kAntennas; ++a) {
#ifdef FIX_B
                const float next = c * dc - s * ds;
                s = c * ds + s * dc;
                c = next;
#else
                __sincosf(angle * (a + 1), &s, &c);
#endif
                const float x = tile[t * kPitch + a];
                re += x * c;
                im += x * s;
            }
            float sum = re * re + im * im;
            for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
            if (t == 0) atomicAdd(power + beam, sum);
        }
    }
}

int main() {
    float* samples = uniform<float>(kTimes * kAntennas, -1.0, 1.0, 26);
    float* angles = uniform<float>(kBeams, 0.0, 1.5, 27);
    float* power = zeros<float>(kBeams);
    const dim3 grid(kBeams / 32, kParts);
    MEASURE(power, kBeams, k<<<grid, kThreads>>>(samples, angles, power));
}
