// /// factors
// title = "Exchange the last two axes of a tensor"
// kind = "one alone does not pay"
// expect = "Scattered writes hide the cost of the 64-bit divisions: B pays only after A."
//
// [causes.A]
// bottleneck = "uncoalesced-global-access"
// fix = "Exchange through a tile in shared memory, so that neighbouring threads write neighbouring elements."
//
// [causes.B]
// bottleneck = "integer-throughput"
// fix = "Take the indices from the coordinates of the block instead of 64-bit divisions for each element."
// ///
#include "common.cuh"

constexpr int kA = 64, kB = 1024, kC = 1024, kTile = 32;
constexpr size_t kElements = size_t(kA) * kB * kC;

__global__ void __launch_bounds__(256) k(const float* in, long long nb, long long nc, float* out) {
#ifdef FIX_A
    __shared__ float tile[kTile][kTile + 1];
#endif
#pragma unroll 1
    for (int part = 0; part < 4; ++part) {
        const int x = threadIdx.x % 32, y = threadIdx.x / 32 + 8 * part;
#ifdef FIX_B
        const size_t a = blockIdx.z, b = blockIdx.y * kTile + y, c = blockIdx.x * kTile + x;
#else
        const long long block = blockIdx.x + gridDim.x * (blockIdx.y + (long long)(gridDim.y) * blockIdx.z);
        const long long i = block * kTile * kTile + y * kTile + x, tiles = i / (kTile * kTile);
        const long long c = tiles % (nc / kTile) * kTile + x, b = tiles / (nc / kTile) % (nb / kTile) * kTile + y;
        const long long a = i / (nb * nc);
#endif
#ifdef FIX_A
        tile[y][x] = in[(a * kB + b) * kC + c];
#else
        out[(a * kC + c) * kB + b] = in[(a * kB + b) * kC + c];
#endif
    }
#ifdef FIX_A
    __syncthreads();
#pragma unroll 1
    for (int part = 0; part < 4; ++part) {
        const int x = threadIdx.x % 32, y = threadIdx.x / 32 + 8 * part;
#ifdef FIX_B
        const size_t a = blockIdx.z, b = blockIdx.y * kTile + x, c = blockIdx.x * kTile + y;
#else
        const long long block = blockIdx.x + gridDim.x * (blockIdx.y + (long long)(gridDim.y) * blockIdx.z);
        const long long i = block * kTile * kTile + y * kTile + x, tiles = i / (kTile * kTile);
        const long long c = tiles % (nc / kTile) * kTile + y, b = tiles / (nc / kTile) % (nb / kTile) * kTile + x;
        const long long a = i / (nb * nc);
#endif
        out[(a * kC + c) * kB + b] = tile[x][y];
    }
#endif
}

int main() {
    float* in = uniform<float>(kElements, -1.0, 1.0, 34);
    float* out = zeros<float>(kElements);
    const dim3 grid(kC / kTile, kB / kTile, kA);
    MEASURE(out, kElements, k<<<grid, 256>>>(in, kB, kC, out));
}
