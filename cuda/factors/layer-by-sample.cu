// /// factors
// title = "A dense layer of 1024 units for a batch of 1056 samples"
// kind = "single"
// blind = true
// expect = "Each block reads all 4 MB of weights from L2 for one sample. Decoys: a lone lane's precise tanh with a scattered store, and one block an SM (registers), hide behind L2. Four samples a block need a quarter of the traffic and pay 2x to 3.5x."
//
// [causes.A]
// bottleneck = "l2-bandwidth"
// fix = "Use each weight that was read for four samples of the block."
// ///
#include "common.cuh"

#ifdef FIX_A
constexpr int kEach = 4;
#else
constexpr int kEach = 1;
#endif
constexpr int kIn = 1024, kOut = 1024, kSamples = 1056, kThreads = 1024, kQuads = kIn / 4;

__device__ __forceinline__ float dot(float4 a, float4 b) {
    return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
}

__global__ void __launch_bounds__(kThreads) k(const float4* __restrict__ weights,
                                              const float4* __restrict__ inputs, float* outputs) {
    __shared__ float4 x[kEach][kQuads];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, sample = blockIdx.x * kEach;
    if (threadIdx.x < kEach * kQuads) {
        x[threadIdx.x / kQuads][threadIdx.x % kQuads] = inputs[size_t(sample) * kQuads + threadIdx.x];
    }
    __syncthreads();
#pragma unroll 1
    for (int row = warp; row < kOut; row += kThreads / 32) {
        float4 w[kQuads / 32];
#pragma unroll
        for (int j = 0; j < kQuads / 32; ++j) w[j] = weights[row * kQuads + j * 32 + lane];
#pragma unroll
        for (int s = 0; s < kEach; ++s) {
            float sum = 0.0f;
#pragma unroll
            for (int j = 0; j < kQuads / 32; ++j) sum += dot(w[j], x[s][j * 32 + lane]);
#pragma unroll
            for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, d);
            if (lane == 0) outputs[size_t(sample + s) * kOut + row] = tanhf(sum);
        }
    }
}

int main() {
    float* weights = uniform<float>(kIn * kOut, -0.1, 0.1, 1111);
    float* inputs = uniform<float>(kSamples * kIn, -1.0, 1.0, 1112);
    float* outputs = zeros<float>(kSamples * kOut);
    MEASURE(outputs, kSamples * kOut,
            k<<<kSamples / kEach, kThreads>>>(reinterpret_cast<const float4*>(weights),
                                              reinterpret_cast<const float4*>(inputs), outputs));
}
