// /// factors
// title = "Heat flow along 132 rods of 256 cells, a rod a block"
// kind = "both pay"
// expect = "One block an SM hides neither the barriers nor the conflicts of their loads."
//
// [causes.A]
// bottleneck = "shared-bank-conflicts"
// fix = "Store each field of the cells in an array of its own instead of records of 4 floats."
//
// [causes.B]
// bottleneck = "barrier-stalls"
// fix = "Alternate two temperatures and vote every 16th step: one barrier a step instead of three."
// ///
#include "common.cuh"

constexpr int kCells = 256, kRods = 132, kSteps = 2048, kFields = 4;
#ifdef FIX_A
#define FIELD(f, x) cells[(f) * kCells + (x)]
#else
#define FIELD(f, x) cells[(x) * kFields + (f)]
#endif

// Fields: 0 and 1 temperatures, 2 conductivity, 3 capacity.
__global__ void __launch_bounds__(kCells) k(const float* initial, float limit, float* out) {
    __shared__ float cells[kCells * kFields];
    const int x = threadIdx.x, rod = blockIdx.x;
    for (int f = 0; f < kFields; ++f) FIELD(f, x) = initial[(size_t(rod) * kFields + f) * kCells + x];
    FIELD(1, x) = FIELD(0, x);
    __syncthreads();
    const int left = max(x - 1, 0), right = min(x + 1, kCells - 1);
    int now = 0;
    for (int step = 0; step < kSteps; ++step) {
        const float t = FIELD(now, x);
        const float flow = FIELD(2, left) * (FIELD(now, left) - t) + FIELD(2, right) * (FIELD(now, right) - t);
        const float next = t + 0.2f * FIELD(3, x) * flow;
#ifdef FIX_B
        FIELD(1 - now, x) = next;
        now = 1 - now;
        if (step % 16 == 15) {
            if (!__syncthreads_or(fabsf(next - t) > limit)) break;
        } else {
            __syncthreads();
        }
#else
        __syncthreads();
        FIELD(now, x) = next;
        __syncthreads();
        if (!__syncthreads_or(fabsf(next - t) > limit)) break;
#endif
    }
    out[rod * kCells + x] = FIELD(now, x);
}

int main() {
    float* initial = uniform<float>(size_t(kRods) * kFields * kCells, 0.1, 0.9, 11);
    float* out = zeros<float>(kRods * kCells);
    MEASURE(out, kRods * kCells, k<<<kRods, kCells>>>(initial, 1e-12f, out));
}
