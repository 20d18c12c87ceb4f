// /// factors
// title = "Masses of peptides by a table of amino acids"
// kind = "alternatives"
// expect = "The table leaves the constant cache either way; both together are the table in shared memory."
//
// [causes.A]
// bottleneck = "constant-cache"
// fix = "Copy the table to shared memory."
//
// [causes.B]
// bottleneck = "constant-cache"
// fix = "Hold one mass a lane and fetch those that are needed with a shuffle."
// ///
#include "common.cuh"

constexpr int kPeptides = 1 << 20, kLength = 128, kAcids = 32;

__constant__ float masses[kAcids];

__global__ void __launch_bounds__(256) k(const uint4* peptides, float* out) {
#ifdef FIX_A
    __shared__ float table[kAcids];
    if (threadIdx.x < kAcids) table[threadIdx.x] = masses[threadIdx.x];
    __syncthreads();
#define MASS(acid) table[acid]
#elif defined(FIX_B)
    const float mine = masses[threadIdx.x % kAcids];
#define MASS(acid) __shfl_sync(~0u, mine, acid)
#else
#define MASS(acid) masses[acid]
#endif
    const int peptide = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 18.0106f;
    for (int part = 0; part < kLength / 16; ++part) {
        const uint4 acids = peptides[size_t(part) * kPeptides + peptide];
        const unsigned words[4] = {acids.x, acids.y, acids.z, acids.w};
#pragma unroll
        for (int i = 0; i < 16; ++i) {
            const int acid = words[i / 4] >> (i % 4 * 8) & (kAcids - 1);
            sum += MASS(acid);
        }
    }
    out[peptide] = sum;
}

int main() {
    const size_t n = size_t(kPeptides) * kLength;
    const uint4* peptides = reinterpret_cast<uint4*>(uniform<unsigned char>(n, 0.0, 256.0, 62));
    const float* table = uniform<float>(kAcids, 57.0, 186.0, 63);
    CHECK(cudaMemcpyToSymbol(masses, table, sizeof(masses), 0, cudaMemcpyDeviceToDevice));
    float* out = zeros<float>(kPeptides);
    MEASURE(out, kPeptides, k<<<kPeptides / 256, 256>>>(peptides, out));
}
