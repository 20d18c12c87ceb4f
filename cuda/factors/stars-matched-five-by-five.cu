// /// factors
// title = "Stars found in a plate by a 5 x 5 matched filter"
// kind = "single"
// blind = true
// expect = "25 loads a pixel hit L1, whose 25 to 45 wavefronts take twice the time of the instructions. Decoys: the mask in constant memory (uniform, an operand) and the divergent branch with a precise root hide. Eight pixels a thread need a third of the loads and pay about 2x."
//
// [causes.A]
// bottleneck = "l1-throughput"
// fix = "Let a thread make eight pixels of a column, so that a loaded pixel serves up to five of them."
// ///
#include "common.cuh"

#ifdef FIX_A
constexpr int kRows = 8;
#else
constexpr int kRows = 1;
#endif
constexpr int kSide = 4096, kMask = 5, kPitch = kSide + 32;

__constant__ float c_mask[kMask * kMask];

__global__ void __launch_bounds__(256) k(const float* __restrict__ plate, float* __restrict__ found) {
    const int x = blockIdx.x * 256 + threadIdx.x, y = blockIdx.y * kRows;
    const float* from = plate + size_t(y) * kPitch + x;
    float match[kRows] = {};
#pragma unroll
    for (int r = 0; r < kRows + kMask - 1; ++r) {
#pragma unroll
        for (int c = 0; c < kMask; ++c) {
            const float pixel = from[r * kPitch + c];
#pragma unroll
            for (int o = 0; o < kRows; ++o) {
                if (r >= o && r < o + kMask) match[o] += c_mask[(r - o) * kMask + c] * pixel;
            }
        }
    }
#pragma unroll
    for (int o = 0; o < kRows; ++o) {
        float value = 0.1f * match[o];
        if (match[o] > 0.4f) value = sqrtf(match[o]);
        found[size_t(y + o) * kSide + x] = value;
    }
}

int main() {
    float* plate = uniform<float>(size_t(kSide + kMask - 1) * kPitch, 0.0, 1.0, 1121);
    float mask[kMask * kMask];
    for (int i = 0; i < kMask * kMask; ++i) {
        const int dx = i % kMask - 2, dy = i / kMask - 2;
        mask[i] = float(exp(-0.5 * (dx * dx + dy * dy)) - 0.21 + 0.02 * unit(i, 1122));
    }
    CHECK(cudaMemcpyToSymbol(c_mask, mask, sizeof(mask)));
    float* found = zeros<float>(size_t(kSide) * kSide);
    MEASURE(found, size_t(kSide) * kSide, k<<<dim3(kSide / 256, kSide / kRows), 256>>>(plate, found));
}
