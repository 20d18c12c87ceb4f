// /// factors
// title = "Repeated transposition of 32 by 32 keys in shared memory, as in a bitwise sort"
// kind = "alternatives"
// expect = "Padding and exchanging columns each end all conflicts."
// tolerance = 0.0
//
// [causes.A]
// bottleneck = "shared-bank-conflicts"
// fix = "Pad the rows to 33 keys."
//
// [causes.B]
// bottleneck = "shared-bank-conflicts"
// fix = "Store the column c of row r at c xor r."
// ///
#include "common.cuh"

constexpr int kTiles = 132 * 64, kRounds = 16;
#ifdef FIX_A
constexpr int kPitch = 33;
#else
constexpr int kPitch = 32;
#endif

__device__ int place(int r, int c) {
#if defined(FIX_B) && !defined(FIX_A)
    return r * kPitch + (c ^ r);
#else
    return r * kPitch + c;
#endif
}

// Four warps share a tile; each has eight rows.
__global__ void __launch_bounds__(128) k(const unsigned* keys, unsigned* mixed) {
    __shared__ unsigned tile[32 * kPitch];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const size_t first = size_t(blockIdx.x) * 1024;
    unsigned mine[8];
#pragma unroll
    for (int r = 0; r < 8; ++r) mine[r] = keys[first + (warp * 8 + r) * 32 + lane];
    for (int round = 0; round < kRounds; ++round) {
#pragma unroll
        for (int r = 0; r < 8; ++r) tile[place(warp * 8 + r, lane)] = mine[r];
        __syncthreads();
#pragma unroll
        for (int r = 0; r < 8; ++r) mine[r] = mine[r] * 5u ^ tile[place(lane, warp * 8 + r)];
        __syncthreads();
    }
#pragma unroll
    for (int r = 0; r < 8; ++r) mixed[first + (warp * 8 + r) * 32 + lane] = mine[r];
}

int main() {
    unsigned* keys = uniform<unsigned>(size_t(kTiles) * 1024, 0.0, 4294967295.0, 58);
    unsigned* mixed = zeros<unsigned>(size_t(kTiles) * 1024);
    MEASURE(mixed, size_t(kTiles) * 1024, k<<<kTiles, 128>>>(keys, mixed));
}
