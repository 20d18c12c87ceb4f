// /// factors
// title = "Radiance along lines of sight, which are longer near the horizon"
// kind = "both pay"
// expect = "The last blocks march 4 times the mean; exp and pow make each step of every block slow."
//
// [causes.A]
// bottleneck = "workload-imbalance"
// fix = "Deal rows of pixels to the blocks in turn, and not 8 neighbouring rows to each."
//
// [causes.B]
// bottleneck = "sfu-throughput"
// fix = "Advance the densities of air and haze by one product each instead of two exponentials and a power."
// ///
#include "common.cuh"

constexpr int kRows = 1056, kColumns = 512, kBlocks = 132;

__global__ void __launch_bounds__(kColumns) k(const float* haze, float* radiance) {
    for (int r = 0; r < kRows / kBlocks; ++r) {
#ifdef FIX_A
        const int row = r % 2 ? r * kBlocks + (kBlocks - 1 - blockIdx.x) : r * kBlocks + blockIdx.x;
#else
        const int row = blockIdx.x * (kRows / kBlocks) + r;
#endif
        const float along = float(row) / kRows;
        const int steps = 16 + int(1000.0f * along * along * along);
        const float amount = haze[row * kColumns + threadIdx.x];
        const float rise = 2.0f / (16.0f + steps);
        float light = 0.0f;
#ifdef FIX_B
        const float fewer_air = expf(-rise / 8.0f), fewer_haze = expf(-rise / 1.2f), dimmer = powf(0.98f, amount);
        float air = 1.0f, dust = amount, seen = 1.0f;
        for (int s = 0; s < steps; ++s) {
            light += seen * (air + dust);
            air *= fewer_air;
            dust *= fewer_haze;
            seen *= dimmer;
        }
#else
        for (int s = 0; s < steps; ++s) {
            const float height = s * rise;
            const float air = __expf(-height / 8.0f), dust = amount * __expf(-height * (1.0f / 1.2f));
            light += __powf(0.98f, amount * s) * (air + dust);
        }
#endif
        radiance[row * kColumns + threadIdx.x] = light * rise;
    }
}

int main() {
    float* haze = uniform<float>(kRows * kColumns, 0.05, 1.0, 17);
    float* radiance = zeros<float>(kRows * kColumns);
    MEASURE(radiance, kRows * kColumns, k<<<kBlocks, kColumns>>>(haze, radiance));
}
