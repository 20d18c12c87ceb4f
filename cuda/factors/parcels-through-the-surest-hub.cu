// /// factors
// title = "The surest way of a parcel through any of 32768 hubs, from 128 origins to 128 destinations"
// kind = "one alone does not pay"
// blind = true
// expect = "64 blocks of eight warps wait for each next tile on half of the SMs. With 4 x 4 results a thread (A) only 4 blocks are left: about 2x slower alone. Once the hubs are split over blocks (B, 5x or more) shared loads are the limit and A pays 2x."
//
// [causes.A]
// bottleneck = "shared-memory-throughput"
// fix = "Let a thread keep 4 x 4 results in registers, so that two products need one shared load."
//
// [causes.B]
// bottleneck = "small-grid"
// fix = "Split the hubs over 64 times as many blocks and take the best by atomicMax."
// ///
#include "common.cuh"

#ifdef FIX_A
constexpr int kEach = 4;
#else
constexpr int kEach = 1;
#endif
#ifdef FIX_B
constexpr int kParts = 64;
#else
constexpr int kParts = 1;
#endif
constexpr int kPlaces = 128, kHubs = 32768, kStep = 32, kTile = 16 * kEach, kPart = kHubs / kParts;

__global__ void __launch_bounds__(256) k(const float* __restrict__ first, const float* __restrict__ second,
                                         float* best) {
    __shared__ __align__(16) float from[kTile][kStep + 4];
    __shared__ __align__(16) float to[kStep][kTile];
    const int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
    const int row = blockIdx.y * kTile, column = blockIdx.x * kTile;
    float top[kEach][kEach] = {};
    const int end = (blockIdx.z + 1) * kPart;
    for (int hub = blockIdx.z * kPart; hub < end; hub += kStep) {
#pragma unroll
        for (int n = 0; n < kTile * kStep / 256; ++n) {
            const int e = n * 256 + threadIdx.x;
            from[e / kStep][e % kStep] = first[(row + e / kStep) * kHubs + hub + e % kStep];
            to[e / kTile][e % kTile] = second[(hub + e / kTile) * kPlaces + column + e % kTile];
        }
        __syncthreads();
#pragma unroll 8
        for (int s = 0; s < kStep; ++s) {
            float p[kEach], q[kEach];
#pragma unroll
            for (int i = 0; i < kEach; ++i) p[i] = from[ty * kEach + i][s];
#pragma unroll
            for (int j = 0; j < kEach; ++j) q[j] = to[s][tx * kEach + j];
#pragma unroll
            for (int i = 0; i < kEach; ++i) {
#pragma unroll
                for (int j = 0; j < kEach; ++j) top[i][j] = fmaxf(top[i][j], p[i] * q[j]);
            }
        }
        __syncthreads();
    }
    // Chances are positive, so their bits are ordered as integers.
    for (int i = 0; i < kEach; ++i) {
        for (int j = 0; j < kEach; ++j) {
            const int place = (row + ty * kEach + i) * kPlaces + column + tx * kEach + j;
            atomicMax(reinterpret_cast<int*>(best) + place, __float_as_int(top[i][j]));
        }
    }
}

int main() {
    float* first = uniform<float>(size_t(kPlaces) * kHubs, 0.01, 1.0, 1011);
    float* second = uniform<float>(size_t(kHubs) * kPlaces, 0.01, 1.0, 1012);
    float* best = zeros<float>(kPlaces * kPlaces);
    const dim3 grid(kPlaces / kTile, kPlaces / kTile, kParts);
    MEASURE(best, kPlaces * kPlaces, k<<<grid, 256>>>(first, second, best));
}
