// /// factors
// title = "Vertical blur of an image over 33 rows"
// kind = "alternatives"
// expect = "Both fixes end the repeated loads from L1; together they have no more to remove."
//
// [causes.A]
// bottleneck = "l1-throughput"
// fix = "Keep the running sum of the column: a load of the row that enters and one of the row that leaves."
//
// [causes.B]
// bottleneck = "l1-throughput"
// fix = "Hold the 33 rows in registers and compute 32 results from 64 loads."
// ///
#include "common.cuh"

constexpr int kRows = 4096, kColumns = 8192, kTaps = 33, kStrip = 32;

__global__ void __launch_bounds__(128) k(const float* __restrict__ image, float* __restrict__ out) {
    const int column = blockIdx.x * 128 + threadIdx.x, first = blockIdx.y * kStrip;
    const float* from = image + size_t(first) * kColumns + column;
    float* to = out + size_t(first) * kColumns + column;
#ifdef FIX_B
    float held[kStrip + kTaps - 1];
#pragma unroll
    for (int r = 0; r < kStrip + kTaps - 1; ++r) held[r] = from[size_t(r) * kColumns];
#define PIXEL(r) held[r]
#else
#define PIXEL(r) from[size_t(r) * kColumns]
#endif
#ifdef FIX_A
    float sum = 0.0f;
#pragma unroll
    for (int r = 0; r < kTaps - 1; ++r) sum += PIXEL(r);
#pragma unroll
    for (int r = 0; r < kStrip; ++r) {
        sum += PIXEL(r + kTaps - 1);
        to[size_t(r) * kColumns] = sum * (1.0f / kTaps);
        sum -= PIXEL(r);
    }
#else
#ifdef FIX_B
#pragma unroll
#else
#pragma unroll 1
#endif
    for (int r = 0; r < kStrip; ++r) {
        float sum = 0.0f;
#pragma unroll
        for (int t = 0; t < kTaps; ++t) sum += PIXEL(r + t);
        to[size_t(r) * kColumns] = sum * (1.0f / kTaps);
    }
#endif
}

int main() {
    float* image = uniform<float>(size_t(kRows + kTaps) * kColumns, 0.0, 1.0, 57);
    float* out = zeros<float>(size_t(kRows) * kColumns);
    MEASURE(out, size_t(kRows) * kColumns, k<<<dim3(kColumns / 128, kRows / kStrip), 128>>>(image, out));
}
