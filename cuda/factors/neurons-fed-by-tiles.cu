// /// factors
// title = "Spikes of exponential neurons whose input currents come in tiles"
// kind = "both pay"
// blind = true
// expect = "A block waits for each tile (two fifths of the time), then one warp a scheduler follows one neuron's chain of exponentials at a time. Copying ahead (A) or four chains at once (B) each pay about 1.6x, alone and after the other; both reach DRAM."
//
// [causes.A]
// bottleneck = "async-pipeline-stalls"
// fix = "Start the copy of the next tile before this one is used, with two buffers."
//
// [causes.B]
// bottleneck = "dependency-latency"
// fix = "Advance the thread's four neurons together step by step, instead of one neuron after the other."
// ///
#include "common.cuh"

#include <cuda_pipeline.h>

#ifdef FIX_A
constexpr int kBuffers = 2;
#else
constexpr int kBuffers = 1;
#endif
constexpr int kThreads = 128, kEach = 4, kWide = kThreads * kEach, kBlocks = 132, kNeurons = kBlocks * kWide;
constexpr int kSteps = 32, kTiles = 32, kTile = kSteps * kWide, kRoom = kBuffers * kTile * sizeof(float);

struct Neuron {
    float v = 0.0f;
    int spikes = 0;

    __device__ __forceinline__ void advance(float current) {
        const float rush = __expf(0.5f * v - 3.0f);
        v += 0.05f * (current - v) + 0.1f * rush;
        if (v > 8.0f) {
            v = 0.0f;
            ++spikes;
        }
    }
};

__device__ __forceinline__ void fetch(float* to, const float* currents, int tile) {
#pragma unroll 8
    for (int n = 0; n < kTile / 4 / kThreads; ++n) {
        const int step = n, column = 4 * threadIdx.x;
        const size_t row = size_t(tile * kSteps + step) * kNeurons + blockIdx.x * kWide;
        __pipeline_memcpy_async(to + step * kWide + column, currents + row + column, 16);
    }
    __pipeline_commit();
}

__global__ void __launch_bounds__(kThreads) k(const float* __restrict__ currents, float* activity) {
    extern __shared__ __align__(16) float tiles[];
    Neuron neurons[kEach];
#ifdef FIX_A
    fetch(tiles, currents, 0);
#endif
#pragma unroll 1
    for (int tile = 0; tile < kTiles; ++tile) {
        float* now = tiles + tile % kBuffers * kTile;
#ifdef FIX_A
        if (tile + 1 < kTiles) {
            fetch(tiles + (tile + 1) % kBuffers * kTile, currents, tile + 1);
            __pipeline_wait_prior(1);
        } else {
            __pipeline_wait_prior(0);
        }
#else
        fetch(now, currents, tile);
        __pipeline_wait_prior(0);
#endif
        __syncthreads();
#ifdef FIX_B
#pragma unroll 4
        for (int s = 0; s < kSteps; ++s) {
#pragma unroll
            for (int n = 0; n < kEach; ++n) neurons[n].advance(now[s * kWide + n * kThreads + threadIdx.x]);
        }
#else
#pragma unroll
        for (int n = 0; n < kEach; ++n) {
#pragma unroll 4
            for (int s = 0; s < kSteps; ++s) neurons[n].advance(now[s * kWide + n * kThreads + threadIdx.x]);
        }
#endif
        __syncthreads();
    }
#pragma unroll
    for (int n = 0; n < kEach; ++n) {
        activity[blockIdx.x * kWide + n * kThreads + threadIdx.x] = neurons[n].spikes + 0.01f * neurons[n].v;
    }
}

int main() {
    float* currents = uniform<float>(size_t(kTiles) * kSteps * kNeurons, 4.0, 14.0, 1071);
    float* activity = zeros<float>(kNeurons);
    CHECK(cudaFuncSetAttribute(k, cudaFuncAttributeMaxDynamicSharedMemorySize, kRoom));
    MEASURE(activity, kNeurons, k<<<kBlocks, kThreads, kRoom>>>(currents, activity));
}
