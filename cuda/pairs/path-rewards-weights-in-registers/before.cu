// Weighted rewards along paths, with all weights computed first
//
// Every thread works out its 160 weights and their sum before it walks, and keeps them in
// registers. Few warps fit on an SM, and each of them waits for one node after the other.
//
// /// kernelprof
// kernel = "follow"
// block = [128]
// grid = ["paths // 4"]
// reference = "reference:follow"
//
// [sizes]
// paths = 33792
// nodes = 1048576
//
// [check]
// sizes = { paths = 256, nodes = 4096 }
//
// [[arguments]]
// name = "starts"
// type = "int32"
// shape = ["paths"]
// fill = "reference:starts"
//
// [[arguments]]
// name = "next"
// type = "int32"
// shape = ["nodes"]
// fill = "reference:next_nodes"
//
// [[arguments]]
// name = "rewards"
// type = "float32"
// shape = ["nodes", 32]
//
// [[arguments]]
// name = "decays"
// type = "float32"
// shape = ["paths", 32]
// fill = "reference:decays"
//
// [[arguments]]
// name = "means"
// type = "float32"
// shape = ["paths", 32]
// output = true
//
// [compile]
// flags = ["-O3", "--use_fast_math"]
// standard = "c++17"
// ///

constexpr int STEPS = 160;

extern "C" __global__ void __launch_bounds__(128)
    follow(const int* __restrict__ starts, const int* __restrict__ next,
           const float* __restrict__ rewards, const float* __restrict__ decays,
           float* __restrict__ means) {
    // A warp follows a path; its lanes are 32 observers, each with a decay of its own.
    const int lane = threadIdx.x % 32;
    const int path = blockIdx.x * 4 + threadIdx.x / 32;
    const float decay = decays[path * 32 + lane];
    int node = starts[path];
    float weight[STEPS];
    float total = 0.0f;
#pragma unroll
    for (int step = 0; step < STEPS; ++step) {
        weight[step] = step == 0 ? 1.0f : weight[step - 1] * decay;
        total += weight[step];
    }
    float sum = 0.0f;
#pragma unroll
    for (int step = 0; step < STEPS; ++step) {
        sum = fmaf(weight[step] / total, rewards[node * 32 + lane], sum);
        node = next[node];
    }
    means[path * 32 + lane] = sum;
}
