// /// factors
// title = "Histogram of the distances of all pairs of 12288 atoms"
// kind = "both pay"
// expect = "Imbalance multiplies the rest, which is a double division and colliding atomics for each pair."
// tolerance = 0.0
//
// [causes.A]
// bottleneck = "workload-imbalance"
// fix = "Give each block a row from either end of the triangle of pairs instead of neighbouring rows."
//
// [causes.B]
// bottleneck = "fp64-throughput"
// fix = "Divide by the bin width, a power of two, in float."
//
// [causes.C]
// bottleneck = "atomic-contention"
// fix = "Count in 32 copies of the histogram, one for each warp."
// ///
#include "common.cuh"

constexpr int kAtoms = 12288, kBlocks = 128, kRows = kAtoms / kBlocks, kBins = 32;
#ifdef FIX_C
constexpr int kCopies = 32;
#else
constexpr int kCopies = 1;
#endif

__global__ void __launch_bounds__(1024) k(const float4* atoms, double width, unsigned* bins) {
    __shared__ unsigned counts[kCopies * kBins];
    if (threadIdx.x < kCopies * kBins) counts[threadIdx.x] = 0;
    __syncthreads();
    unsigned* mine = counts + threadIdx.x / 32 % kCopies * kBins;
    for (int r = 0; r < kRows; ++r) {
#ifdef FIX_A
        const int row = r % 2 ? (r + 1) * kBlocks - 1 - blockIdx.x : r * kBlocks + blockIdx.x;
#else
        const int row = blockIdx.x * kRows + r;
#endif
        const float4 a = atoms[row];
        for (int j = threadIdx.x; j < row; j += blockDim.x) {
            const float4 b = atoms[j];
            const float dx = a.x - b.x, dy = a.y - b.y, dz = a.z - b.z;
            const float distance = sqrtf(dx * dx + dy * dy + dz * dz);
#ifdef FIX_B
            const int bin = int(distance / float(width));
#else
            const int bin = int(distance / width);
#endif
            atomicAdd(mine + min(bin, kBins - 1), 1u);
        }
    }
    __syncthreads();
    if (threadIdx.x < kBins) {
        unsigned sum = 0;
        for (int c = 0; c < kCopies; ++c) sum += counts[c * kBins + threadIdx.x];
        atomicAdd(bins + threadIdx.x, sum);
    }
}

int main() {
    const float4* atoms = reinterpret_cast<float4*>(uniform<float>(4 * kAtoms, 0.0, 3.0, 28));
    unsigned* bins = zeros<unsigned>(kBins);
    MEASURE(bins, kBins, k<<<kBlocks, 1024>>>(atoms, 0.25, bins));
}
