// /// factors
// title = "Sums of 512 values each by a tree in shared memory"
// kind = "one alone does not pay"
// expect = "B alone changes nothing: the sparse threads of the divergent tree have no conflicts. It pays after A."
//
// [causes.A]
// bottleneck = "warp-divergence"
// fix = "Let the first threads do the additions of a level instead of each second, fourth, eighth thread."
//
// [causes.B]
// bottleneck = "shared-bank-conflicts"
// fix = "Insert an unused element after each 32 values."
// ///
#include "common.cuh"

constexpr int kValues = 512, kSums = 1 << 16;

__device__ int place(int i) {
#ifdef FIX_B
    return i + i / 32;
#else
    return i;
#endif
}

__global__ void __launch_bounds__(kValues) k(const float* values, float* sums) {
    __shared__ float tree[kValues + kValues / 32];
    const int t = threadIdx.x;
    for (int n = blockIdx.x; n < kSums; n += gridDim.x) {
        tree[place(t)] = values[size_t(n) * kValues + t];
        __syncthreads();
        for (int s = 1; s < kValues; s *= 2) {
#ifdef FIX_A
            const int i = 2 * s * t;
            if (i < kValues) tree[place(i)] += tree[place(i + s)];
#else
            if (t % (2 * s) == 0) tree[place(t)] += tree[place(t + s)];
#endif
            __syncthreads();
        }
        if (t == 0) sums[n] = tree[0];
        __syncthreads();
    }
}

int main() {
    float* values = uniform<float>(size_t(kValues) * kSums, 0.0, 1.0, 32);
    float* sums = zeros<float>(kSums);
    MEASURE(sums, kSums, k<<<528, kValues>>>(values, sums));
}
