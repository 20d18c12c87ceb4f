// /// factors
// title = "Ageing of battery packs from the voltages of their sixteen cells"
// kind = "both pay"
// blind = true
// expect = "One warp a scheduler first fetches a sector for each voltage and then waits for a chain; the two times add up."
//
// [causes.A]
// bottleneck = "uncoalesced-global-access"
// fix = "Store the voltages by cell, with neighbouring packs at neighbouring addresses."
//
// [causes.B]
// bottleneck = "low-occupancy"
// fix = "Ask for the shared memory that is used instead of 200 KB, which leaves one block an SM."
// ///
#include "common.cuh"

constexpr int kPacks = 1 << 21, kCells = 16, kSensors = 8, kCycles = 256, kThreads = 128;

// The voltages alone, a cell after the other.
__global__ void planar(const float* records, float* voltages) {
    const int pack = blockIdx.x * blockDim.x + threadIdx.x;
    for (int cell = 0; cell < kCells; ++cell) {
        voltages[size_t(cell) * kPacks + pack] = records[(size_t(pack) * kCells + cell) * kSensors];
    }
}

__global__ void __launch_bounds__(kThreads) k(const float* records, const float* curve, float* capacities) {
    extern __shared__ float fade[];
    if (threadIdx.x < 32) fade[threadIdx.x] = curve[threadIdx.x];
    __syncthreads();
    const int pack = blockIdx.x * kThreads + threadIdx.x;
    float voltages[kCells];
#pragma unroll
    for (int cell = 0; cell < kCells; ++cell) {
#ifdef FIX_A
        voltages[cell] = records[size_t(cell) * kPacks + pack];
#else
        voltages[cell] = records[(size_t(pack) * kCells + cell) * kSensors];
#endif
    }
    float mean = 0.0f, spread = 0.0f;
#pragma unroll
    for (int cell = 0; cell < kCells; ++cell) mean += voltages[cell] / kCells;
#pragma unroll
    for (int cell = 0; cell < kCells; ++cell) spread += (voltages[cell] - mean) * (voltages[cell] - mean);
    float capacity = mean;
#pragma unroll 8
    for (int cycle = 0; cycle < kCycles; ++cycle) {
        capacity = capacity * 0.995f + 0.001f * spread;
        capacity = capacity - 0.002f * capacity * capacity;
    }
    capacities[pack] = capacity * fade[pack % 32];
}

int main() {
    float* records = uniform<float>(size_t(kPacks) * kCells * kSensors, 2.8, 4.2, 241);
    float* curve = uniform<float>(32, 0.8, 1.0, 242);
    float* capacities = zeros<float>(kPacks);
#ifdef FIX_A
    float* voltages = zeros<float>(size_t(kPacks) * kCells);
    planar<<<kPacks / 256, 256>>>(records, voltages);
    CHECK(cudaDeviceSynchronize());
#else
    float* voltages = records;
#endif
#ifdef FIX_B
    const int room = 32 * sizeof(float);
#else
    const int room = 200 << 10;
#endif
    CHECK(cudaFuncSetAttribute(k, cudaFuncAttributeMaxDynamicSharedMemorySize, room));
    MEASURE(capacities, kPacks, k<<<kPacks / kThreads, kThreads, room>>>(voltages, curve, capacities));
}
