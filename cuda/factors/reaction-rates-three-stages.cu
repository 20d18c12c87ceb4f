// /// factors
// title = "Chemical source terms: look up constants, compute rates, exchange between species"
// kind = "both pay"
// expect = "One block an SM does the three stages one after the other; each fix shortens one."
//
// [causes.A]
// bottleneck = "constant-cache"
// fix = "Keep the constants, which each lane reads at its own index, in shared memory."
//
// [causes.B]
// bottleneck = "sfu-throughput"
// fix = "Compute the exponentials of the 12 levels as powers of one."
//
// [causes.C]
// bottleneck = "shared-bank-conflicts"
// fix = "Pad the rates of 32 species to 33 in the exchange."
// ///
#include "common.cuh"

constexpr int kThreads = 1024, kCells = 132 * 1024, kSpecies = 32, kReactions = 512, kLevels = 12;
#ifdef FIX_C
constexpr int kPitch = kSpecies + 1;
#else
constexpr int kPitch = kSpecies;
#endif

__constant__ float barriers[kReactions];

// A block has 32 cells with 32 species each at a time.
__global__ void __launch_bounds__(kThreads, 1) k(const int* reactions, const float* heats, float* sources) {
    extern __shared__ float room[];
    float* rates = room;
    float* table = room + 32 * 33;
    for (int i = threadIdx.x; i < kReactions; i += kThreads) table[i] = barriers[i];
    const int species = threadIdx.x % 32, cell = threadIdx.x / 32;
    for (int first = blockIdx.x * 32; first < kCells; first += gridDim.x * 32) {
        __syncthreads();
        const float heat = heats[first + cell];
        float rate = 0.0f;
        for (int n = 0; n < 4; ++n) {
            const int reaction = reactions[((first + cell) * 4 + n) * kSpecies + species];
#ifdef FIX_A
            const float barrier = table[reaction];
#else
            const float barrier = barriers[reaction];
#endif
            const float x = barrier * heat;
#ifdef FIX_B
            const float one = __expf(-0.1f * x);
            float level = 0.0f;
#pragma unroll
            for (int l = kLevels; l > 0; --l) level = level * one + 1.0f / l;
            rate += level * one;
#else
#pragma unroll
            for (int l = 1; l <= kLevels; ++l) rate += __expf(-0.1f * l * x) * (1.0f / l);
#endif
        }
        rates[cell * kPitch + species] = rate;
        __syncthreads();
        // Now a lane has a cell, and a warp the species that it sums up.
        float sum = 0.0f;
#pragma unroll
        for (int s = cell % 8; s < kSpecies; s += 8) {
            const float other = rates[species * kPitch + s];
            sum += s < cell ? other : 0.5f * other;
        }
        __syncthreads();
        rates[species * kPitch + cell] = sum;
        __syncthreads();
        sources[(first + cell) * kSpecies + species] = rates[cell * kPitch + species];
    }
}

int main() {
    int* reactions = uniform<int>(size_t(kCells) * 4 * kSpecies, 0.0, kReactions, 29);
    float* heats = uniform<float>(kCells, 0.1, 1.0, 30);
    const float* constants = uniform<float>(kReactions, 0.1, 4.0, 31);
    CHECK(cudaMemcpyToSymbol(barriers, constants, kReactions * 4, 0, cudaMemcpyDeviceToDevice));
    float* sources = zeros<float>(kCells * kSpecies);
    const int room = 140 << 10;
    CHECK(cudaFuncSetAttribute(k, cudaFuncAttributeMaxDynamicSharedMemorySize, room));
    MEASURE(sources, kCells * kSpecies, k<<<132, kThreads, room>>>(reactions, heats, sources));
}
