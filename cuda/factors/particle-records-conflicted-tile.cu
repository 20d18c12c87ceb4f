// /// factors
// title = "Smoothing of particle records with their neighbours in a shared-memory tile"
// kind = "both pay"
// expect = "Strided global loads and conflicting shared loads both take cycles of the L1 data stage."
//
// [causes.A]
// bottleneck = "uncoalesced-global-access"
// fix = "Copy the records to the tile with neighbouring lanes at neighbouring addresses."
//
// [causes.B]
// bottleneck = "shared-bank-conflicts"
// fix = "Pad a record of the tile from 16 to 17 floats."
// ///
#include "common.cuh"

constexpr int kParticles = 1 << 22, kFields = 16, kThreads = 256;
#ifdef FIX_B
constexpr int kPitch = kFields + 1;
#else
constexpr int kPitch = kFields;
#endif

__global__ void __launch_bounds__(kThreads) k(const float* records, float* smoothed) {
    __shared__ float tile[kThreads * kPitch];
    const int t = threadIdx.x;
    const size_t first = size_t(blockIdx.x) * kThreads * kFields;
#ifdef FIX_A
#pragma unroll
    for (int i = 0; i < kFields; ++i) {
        const int e = i * kThreads + t;
        tile[e / kFields * kPitch + e % kFields] = records[first + e];
    }
#else
#pragma unroll
    for (int f = 0; f < kFields; ++f) {
        tile[t * kPitch + f] = records[first + t * kFields + f];
    }
#endif
    __syncthreads();
    float sum = 0.0f;
#pragma unroll
    for (int d = 0; d < 4; ++d) {
        const float* other = tile + ((t + d * 5) % kThreads) * kPitch;
        const float distance = other[0] * other[3] + other[6] * other[9];
        sum += other[12] / (1.0f + distance * distance) + other[15];
    }
    smoothed[blockIdx.x * kThreads + t] = sum;
}

int main() {
    float* records = uniform<float>(size_t(kParticles) * kFields, -1.0, 1.0, 3);
    float* smoothed = zeros<float>(kParticles);
    MEASURE(smoothed, kParticles, k<<<kParticles / kThreads, kThreads>>>(records, smoothed));
}
