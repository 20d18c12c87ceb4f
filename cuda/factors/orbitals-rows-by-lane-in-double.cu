// /// factors
// title = "Radial parts of orbitals at the distances of a row for each lane"
// kind = "one alone does not pay"
// blind = true
// expect = "A load with 32-way conflicts and sixty FP64 operations take about the same cycles, and overlap: the other pipe still takes the time."
//
// [causes.A]
// bottleneck = "shared-bank-conflicts"
// fix = "Pad a row of the tile from 32 to 33 floats."
//
// [causes.B]
// bottleneck = "fp64-throughput"
// fix = "Evaluate the polynomials in float."
// ///
#include "common.cuh"

constexpr int kThreads = 256, kRow = 32, kBlocks = 132 * 6 * 16, kRows = kBlocks * kThreads;
#ifdef FIX_A
constexpr int kPitch = kRow + 1;
#else
constexpr int kPitch = kRow;
#endif
#ifdef FIX_B
using Real = float;
#else
using Real = double;
#endif

__global__ void __launch_bounds__(kThreads) k(const float* distances, float* amplitudes) {
    __shared__ float tile[kThreads * kPitch];
    const int t = threadIdx.x;
    const size_t first = size_t(blockIdx.x) * kThreads * kRow;
#pragma unroll 8
    for (int i = 0; i < kRow; ++i) tile[(i * kThreads + t) / kRow * kPitch + t % kRow] = distances[first + i * kThreads + t];
    __syncthreads();
    Real s = 0, p = 0, d = 0, f = 0;
#pragma unroll 1
    for (int j = 0; j < kRow; ++j) {
        const Real r = tile[t * kPitch + j];
        Real u = s, v = p, w = d, z = f;
#pragma unroll
        for (int n = 0; n < 15; ++n) {
            u = u * r + Real(0.125);
            v = v * r + Real(0.25);
            w = w * r + Real(0.375);
            z = z * r + Real(0.0625);
        }
        s = u;
        p = v;
        d = w;
        f = z;
    }
    amplitudes[blockIdx.x * kThreads + t] = static_cast<float>(s + p + d + f);
}

int main() {
    float* distances = uniform<float>(size_t(kRows) * kRow, 0.0, 0.8, 281);
    float* amplitudes = zeros<float>(kRows);
    MEASURE(amplitudes, kRows, k<<<kBlocks, kThreads>>>(distances, amplitudes));
}
