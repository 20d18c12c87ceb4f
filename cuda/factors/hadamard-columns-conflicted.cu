// /// factors
// title = "Walsh-Hadamard transform of the columns of the sum of four frames"
// kind = "one alone does not pay"
// expect = "Strided loads are the limit and hide the conflicts: B pays only after A."
//
// [causes.A]
// bottleneck = "uncoalesced-global-access"
// fix = "Store the columns one after the other, so that neighbouring threads read neighbouring elements."
//
// [causes.B]
// bottleneck = "shared-bank-conflicts"
// fix = "Insert one unused element after each 32."
// ///
#include "common.cuh"

constexpr int kLength = 512, kThreads = 256, kColumns = 32768, kFrames = 4;
constexpr size_t kFrame = size_t(kLength) * kColumns;

__device__ int place(int i) {
#ifdef FIX_B
    return i + i / 32;
#else
    return i;
#endif
}

// Where a frame has the element of row r and column c.
__device__ size_t element(int r, int c) {
#ifdef FIX_A
    return size_t(c) * kLength + r;
#else
    return size_t(r) * kColumns + c;
#endif
}

__global__ void __launch_bounds__(kThreads) k(const float* frames, float* out) {
    __shared__ float values[kLength + kLength / 32];
    const int column = blockIdx.x;
    for (int i = threadIdx.x; i < kLength; i += kThreads) {
        float sum = 0.0f;
#pragma unroll
        for (int f = 0; f < kFrames; ++f) sum += frames[f * kFrame + element(i, column)];
        values[place(i)] = sum;
    }
    __syncthreads();
    for (int half = 1; half < kLength; half *= 2) {
        const int groups = kLength / 2 / half;
        const int low = threadIdx.x % groups * 2 * half + threadIdx.x / groups, high = low + half;
        const float a = values[place(low)], b = values[place(high)];
        values[place(low)] = a + b;
        values[place(high)] = a - b;
        __syncthreads();
    }
    for (int i = threadIdx.x; i < kLength; i += kThreads) {
        out[size_t(column) * kLength + i] = values[place(i)];
    }
}

__global__ void fill_frames(float* frames) {
    const size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x, at = i % kFrame;
    frames[i / kFrame * kFrame + element(at / kColumns, at % kColumns)] = float(unit(i, 48));
}

int main() {
    float* frames = zeros<float>(kFrames * kFrame);
    fill_frames<<<unsigned(kFrames * kFrame / 256), 256>>>(frames);
    float* out = zeros<float>(kFrame);
    MEASURE(out, kFrame, k<<<kColumns, kThreads>>>(frames, out));
}
