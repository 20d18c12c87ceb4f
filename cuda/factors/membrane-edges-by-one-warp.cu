// /// factors
// title = "Vibrating membranes of 32 by 32 points with stiff edges, a membrane a block"
// kind = "one alone does not pay"
// expect = "All warps wait for the one that treats the edges; a barrier less pays only once the edges are shared."
//
// [causes.A]
// bottleneck = "workload-imbalance"
// fix = "Distribute the 128 points of the edges over 4 warps instead of 4 points to each lane of warp 0."
//
// [causes.B]
// bottleneck = "barrier-stalls"
// fix = "Alternate two arrays of heights and write the edges in place: two barriers a step instead of four."
// ///
#include "common.cuh"

constexpr int kSide = 32, kPoints = kSide * kSide, kSteps = 400, kMembranes = 132;

__device__ int edge_point(int n) {
    const int along = n % kSide;
    return n < 32 ? along : n < 64 ? (kSide - 1) * kSide + along : n < 96 ? along * kSide : along * kSide + kSide - 1;
}

__device__ float stiffened(float height, float load) {
    float x = height;
    for (int i = 0; i < 40; ++i) x = x - 0.1f * (x * x * x + x - load - height);
    return x;
}

__global__ void __launch_bounds__(kPoints) k(const float* initial, const float* loads, float* out) {
    __shared__ float heights[2][kPoints];
#ifndef FIX_B
    __shared__ float edges[128];
#endif
    const int t = threadIdx.x, x = t % kSide, y = t / kSide;
    heights[0][t] = heights[1][t] = initial[blockIdx.x * kPoints + t];
    float before = heights[0][t];
    const float load = loads[blockIdx.x];
    const int left = y * kSide + max(x - 1, 0), right = y * kSide + min(x + 1, kSide - 1);
    const int up = max(y - 1, 0) * kSide + x, down = min(y + 1, kSide - 1) * kSide + x;
    __syncthreads();
    int now = 0;
    for (int step = 0; step < kSteps; ++step) {
        const float* h = heights[now];
        const float next = 1.98f * h[t] - 0.98f * before + 0.1f * (h[left] + h[right] + h[up] + h[down] - 4.0f * h[t]);
        before = h[t];
#ifdef FIX_B
        now = 1 - now;
#else
        __syncthreads();
#endif
        heights[now][t] = next;
        __syncthreads();
#ifdef FIX_A
        const int first = t < 128 ? t : 128, stride = 128;
#else
        const int first = t < 32 ? t : 128, stride = 32;
#endif
#pragma unroll 1
        for (int n = first; n < 128; n += stride) {
#ifdef FIX_B
            // The columns leave the corners to the rows.
            if (n >= 64 && (n % kSide == 0 || n % kSide == kSide - 1)) continue;
            heights[now][edge_point(n)] = stiffened(heights[now][edge_point(n)], load);
#else
            const float edge = stiffened(heights[now][edge_point(n)], load);
            edges[n] = edge;
#endif
        }
        __syncthreads();
#ifndef FIX_B
        if (x == 0 || y == 0 || x == kSide - 1 || y == kSide - 1) {
            heights[now][t] = edges[y == 0 ? x : y == kSide - 1 ? 32 + x : x == 0 ? 64 + y : 96 + y];
        }
        __syncthreads();
#endif
    }
    out[blockIdx.x * kPoints + t] = heights[now][t];
}

int main() {
    float* initial = uniform<float>(kMembranes * kPoints, 0.0, 1.0, 39);
    float* loads = uniform<float>(kMembranes, 0.0, 0.5, 40);
    float* out = zeros<float>(kMembranes * kPoints);
    MEASURE(out, kMembranes * kPoints, k<<<kMembranes, kPoints>>>(initial, loads, out));
}
