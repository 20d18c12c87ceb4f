// /// factors
// title = "Which of 256 points lie in each of 528 outlines seen through a lens"
// kind = "both pay"
// blind = true
// expect = "One block an outline: that of 10000 corners runs long after the mean one (500 corners) is done, and each thread bends each corner by the lens again (about 20 of 32 instructions). A pays 2.5x or more, B about 2x, before and after the other."
//
// [causes.A]
// bottleneck = "workload-imbalance"
// fix = "Give a block at most 256 corners of an outline and add the turns."
//
// [causes.B]
// bottleneck = "fp32-throughput"
// fix = "Bend a corner once, when it is copied to shared memory, instead of for each point."
// ///
#include "common.cuh"

constexpr int kThreads = 256, kRegions = 528, kChunk = 256;

struct Lens {
    float k1, k2, k3, p1, p2;

    __device__ __forceinline__ float2 bend(float2 v) const {
        const float xx = v.x * v.x, yy = v.y * v.y, xy = 2.0f * v.x * v.y, r2 = xx + yy;
        const float g = 1.0f + r2 * (k1 + r2 * (k2 + r2 * k3));
        const float dx = p1 * xy + p2 * (r2 + 2.0f * xx), dy = p1 * (r2 + 2.0f * yy) + p2 * xy;
        return make_float2(v.x * g + dx, v.y * g + dy);
    }
};

struct Task {
    int region, first, edges;
};

__global__ void __launch_bounds__(kThreads) k(const Task* tasks, const float2* __restrict__ outlines,
                                              Lens lens, int* turns) {
    __shared__ float2 corners[kChunk + 1];
    const Task task = tasks[blockIdx.x];
    const int point = task.region * kThreads + threadIdx.x;
    const float px = 1.8f * (hash32(2 * point) * 0x1p-32f) - 0.9f;
    const float py = 1.8f * (hash32(2 * point + 1) * 0x1p-32f) - 0.9f;
    int turn = 0;
    for (int start = 0; start < task.edges; start += kChunk) {
        const int n = min(kChunk, task.edges - start);
        __syncthreads();
#pragma unroll 1
        for (int i = threadIdx.x; i <= n; i += kThreads) {
            const float2 corner = outlines[task.first + start + i];
#ifdef FIX_B
            corners[i] = lens.bend(corner);
#else
            corners[i] = corner;
#endif
        }
        __syncthreads();
#ifdef FIX_B
        auto at = [&](int i) { return corners[i]; };
#else
        auto at = [&](int i) { return lens.bend(corners[i]); };
#endif
        float2 a = at(0);
#pragma unroll 4
        for (int i = 1; i <= n; ++i) {
            const float2 b = at(i);
            const float side = (b.x - a.x) * (py - a.y) - (px - a.x) * (b.y - a.y);
            if (a.y <= py && b.y > py && side > 0.0f) ++turn;
            if (a.y > py && b.y <= py && side < 0.0f) --turn;
            a = b;
        }
    }
    atomicAdd(&turns[point], turn);
}

int main() {
    std::vector<float2> outlines;
    std::vector<Task> tasks;
    for (int r = 0; r < kRegions; ++r) {
        const int edges = int(128.0 / (0.01 + unit(r, 1081))), first = int(outlines.size());
        for (int j = 0; j <= edges; ++j) {
            const double angle = 6.283185307179586 * (j % edges) / edges;
            const double radius = 0.2 + 0.6 * unit(first + j % edges, 1082);
            outlines.push_back(make_float2(float(radius * cos(angle)), float(radius * sin(angle))));
        }
#ifdef FIX_A
        for (int j = 0; j < edges; j += kChunk) tasks.push_back({r, first + j, std::min(kChunk, edges - j)});
#else
        tasks.push_back({r, first, edges});
#endif
    }
    const Lens lens = {-0.12f, 0.03f, -0.004f, 0.001f, -0.0015f};
    float2* corners = upload(outlines);
    Task* list = upload(tasks);
    int* turns = zeros<int>(kRegions * kThreads);
    MEASURE(turns, kRegions * kThreads, k<<<unsigned(tasks.size()), kThreads>>>(list, corners, lens, turns));
}
