// /// factors
// title = "Evaluate a polynomial of degree 1024 at each sample"
// kind = "alternatives"
// expect = "Four warps an SM wait for one chain each: more chains or more warps both fill the FP32 pipe."
//
// [causes.A]
// bottleneck = "dependency-latency"
// fix = "Evaluate eight samples in each thread, whose chains are independent."
//
// [causes.B]
// bottleneck = "low-occupancy"
// fix = "Ask for the shared memory of the coefficients instead of 200 KB, which leaves one block an SM."
// ///
#include "common.cuh"

constexpr int kSamples = 132 * 128 * 8 * 16, kDegree = 1024;
#ifdef FIX_A
constexpr int kTogether = 8;
#else
constexpr int kTogether = 1;
#endif

__global__ void __launch_bounds__(128) k(const float* coefficients, const float* samples, float* values) {
    extern __shared__ float terms[];
    for (int i = threadIdx.x; i < kDegree; i += blockDim.x) terms[i] = coefficients[i];
    __syncthreads();
    const int first = blockIdx.x * 1024 + threadIdx.x;
#pragma unroll 1
    for (int s = 0; s < 8; s += kTogether) {
        float x[kTogether], value[kTogether];
#pragma unroll
        for (int n = 0; n < kTogether; ++n) {
            x[n] = samples[first + (s + n) * 128];
            value[n] = 0.0f;
        }
#pragma unroll 8
        for (int i = 0; i < kDegree; ++i) {
#pragma unroll
            for (int n = 0; n < kTogether; ++n) value[n] = value[n] * x[n] + terms[i];
        }
#pragma unroll
        for (int n = 0; n < kTogether; ++n) values[first + (s + n) * 128] = value[n];
    }
}

int main() {
    float* coefficients = uniform<float>(kDegree, 0.1, 1.0, 51);
    float* samples = uniform<float>(kSamples, 0.0, 0.95, 52);
    float* values = zeros<float>(kSamples);
#ifdef FIX_B
    const int room = kDegree * sizeof(float);
#else
    const int room = 200 << 10;
#endif
    CHECK(cudaFuncSetAttribute(k, cudaFuncAttributeMaxDynamicSharedMemorySize, room));
    MEASURE(values, kSamples, k<<<kSamples / 1024, 128, room>>>(coefficients, samples, values));
}
