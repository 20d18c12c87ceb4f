// /// factors
// title = "Fall of pollen grains, each until it meets the ground"
// kind = "alternatives"
// blind = true
// expect = "Lanes wait for the slowest grain of their warp: grains of like fall together, or a new grain for a lane that is done, both keep the lanes busy."
//
// [causes.A]
// bottleneck = "warp-divergence"
// fix = "Sort the grains of a block by the length of their fall, so that the lanes of a warp finish together."
//
// [causes.B]
// bottleneck = "workload-imbalance"
// fix = "Let a lane take the block's next grain when its own is down, instead of every 256th grain."
// ///
#include "common.cuh"

constexpr int kThreads = 256, kEach = 16, kChunk = kThreads * kEach, kBlocks = 1056, kGrains = kBlocks * kChunk;

struct Fall {
    float height, speed, drift;
};

// Eight small steps of a grain.
__device__ inline void advance(Fall& fall) {
#pragma unroll
    for (int n = 0; n < 8; ++n) {
        const float drag = 0.02f + fall.speed * (0.3f + 0.05f * fall.speed);
        const float wind = 0.5f + fall.height * (0.1f - 0.002f * fall.height);
        fall.speed += 0.01f * (0.8f - drag - 0.1f * fall.drift * fall.drift);
        fall.drift += 0.01f * (wind - fall.drift * (1.0f + 0.2f * fall.speed));
        fall.height -= 0.01f * (fall.speed + 0.05f * wind * drag);
    }
}

__global__ void __launch_bounds__(kThreads) k(const uint2* grains, const float* heights, float* ends) {
    const int first = blockIdx.x * kChunk;
#ifdef FIX_B
    __shared__ int next;
    if (threadIdx.x == 0) next = kThreads;
    __syncthreads();
    int n = threadIdx.x;
    uint2 grain = grains[first + n];
    Fall fall = {heights[grain.x], 0.0f, 0.0f};
#pragma unroll 1
    while (n < kChunk) {
        advance(fall);
        if (--grain.y == 0) {
            ends[grain.x] = fall.height + fall.drift;
            n = atomicAdd(&next, 1);
            if (n < kChunk) {
                grain = grains[first + n];
                fall = {heights[grain.x], 0.0f, 0.0f};
            }
        }
    }
#else
#pragma unroll 1
    for (int n = threadIdx.x; n < kChunk; n += kThreads) {
        const uint2 grain = grains[first + n];
        Fall fall = {heights[grain.x], 0.0f, 0.0f};
#pragma unroll 1
        for (unsigned left = grain.y; left > 0; --left) advance(fall);
        ends[grain.x] = fall.height + fall.drift;
    }
#endif
}

int main() {
    // The index of a grain and the groups of eight steps of its fall.
    std::vector<uint2> grains(kGrains);
    for (int i = 0; i < kGrains; ++i) {
        const double u = unit(i, 261);
        grains[i] = make_uint2(i, 1 + unsigned(31 * u * u * u));
    }
#ifdef FIX_A
    for (int block = 0; block < kBlocks; ++block) {
        std::stable_sort(grains.begin() + block * kChunk, grains.begin() + (block + 1) * kChunk,
                         [](const uint2& a, const uint2& b) { return a.y > b.y; });
    }
#endif
    uint2* list = upload(grains);
    float* heights = uniform<float>(kGrains, 5.0, 20.0, 262);
    float* ends = zeros<float>(kGrains);
    MEASURE(ends, kGrains, k<<<kBlocks, kThreads>>>(list, heights, ends));
}
