// /// factors
// title = "Escape times of the Mandelbrot set"
// kind = "alternatives"
// expect = "Either way of dealing rows evens the blocks; together they are as good as one."
//
// [causes.A]
// bottleneck = "workload-imbalance"
// fix = "Deal the rows to the blocks in turn instead of a range of neighbouring rows to each."
//
// [causes.B]
// bottleneck = "workload-imbalance"
// fix = "Let a block that is done take the next row from a counter."
// ///
#include "common.cuh"

constexpr int kRows = 1056 * 2, kColumns = 1024, kBlocks = 132, kMost = 512;

__global__ void __launch_bounds__(kColumns) k(int* next, unsigned* escapes) {
#ifdef FIX_B
    __shared__ int taken;
#endif
    for (int n = 0;; ++n) {
#ifdef FIX_B
        __syncthreads();
        if (threadIdx.x == 0) taken = atomicAdd(next, 1);
        __syncthreads();
        const int turn = taken;
        if (turn >= kRows) break;
#else
        if (n >= kRows / kBlocks) break;
        const int turn = n * kBlocks + blockIdx.x;
#endif
#ifdef FIX_A
        const int row = turn;
#else
        // Without a counter, neighbouring rows go to the same block.
        const int row = turn % kBlocks * (kRows / kBlocks) + turn / kBlocks;
#endif
        const float cy = -1.2f + 2.4f * row / kRows, cx = -2.0f + 2.6f * threadIdx.x / kColumns;
        float x = 0.0f, y = 0.0f;
        unsigned count = 0;
        for (; count < kMost && x * x + y * y < 4.0f; ++count) {
            const float t = x * x - y * y + cx;
            y = 2.0f * x * y + cy;
            x = t;
        }
        escapes[row * kColumns + threadIdx.x] = count;
    }
}

__global__ void reset(int* next) { *next = 0; }

int main() {
    int* next = zeros<int>(1);
    unsigned* escapes = zeros<unsigned>(kRows * kColumns);
    MEASURE(escapes, kRows * kColumns, (reset<<<1, 1>>>(next), k<<<kBlocks, kColumns>>>(next, escapes)));
}
