// A mixture of 42 small networks, one code with the weights in a table
//
// All warps run the same few thousand bytes of code, which stay in the cache; the weights come from
// shared memory.
//
// /// kernelprof
// kernel = "ask_experts"
// block = [256]
// grid = ["samples // 2048"]
// reference = "reference:ask_experts"
// flops = "456 * samples"
// min_bytes = "28 * samples"
//
// [sizes]
// samples = 4194304
//
// [check]
// sizes = { samples = 16384 }
//
// [[arguments]]
// name = "inputs"
// type = "float32"
// shape = [6, "samples"]
//
// [[arguments]]
// name = "chosen"
// type = "int32"
// shape = ["samples // 64"]
// fill = "reference:chosen"
//
// [[arguments]]
// name = "answers"
// type = "float32"
// shape = ["samples"]
// output = true
//
// [[arguments]]
// name = "count"
// type = "int32"
// value = "samples"
//
// [compile]
// flags = ["-O3"]
// standard = "c++17"
// ///

constexpr int INPUTS = 6;
constexpr int WIDTH = 12;
constexpr int WEIGHTS = (INPUTS + WIDTH + 1) * WIDTH;  // of an expert: two layers and an output
constexpr int PAIR = 2;                                // samples of a thread at a time
constexpr int GROUPS = 4;                              // of samples that a warp takes

// The trained weights, in the form that the training run exported them.
__host__ __device__ constexpr float exported(unsigned number) {
    unsigned bits = (number + 1) * 2654435761u;
    bits = (bits ^ (bits >> 15)) * 2246822519u;
    bits = bits ^ (bits >> 13);
    return (static_cast<float>(bits >> 16) - 32768.0f) / 65536.0f;
}

constexpr int EXPERTS = 42;

struct Weights {
    float all[EXPERTS * WEIGHTS];
};

constexpr Weights table() {
    Weights weights = {};
    for (int k = 0; k < EXPERTS * WEIGHTS; ++k) weights.all[k] = exported(k);
    return weights;
}

__device__ const Weights exported_table = table();

// One expert, with its weights from a table.
__device__ void apply(const float* weights, const float (&x)[INPUTS][PAIR], float (&y)[PAIR]) {
    float first[WIDTH][PAIR] = {};
    float second[WIDTH][PAIR] = {};
#pragma unroll
    for (int k = 0; k < INPUTS * WIDTH; ++k) {
        const float weight = weights[k];
        for (int p = 0; p < PAIR; ++p) {
            first[k % WIDTH][p] = fmaf(weight, x[k / WIDTH][p], first[k % WIDTH][p]);
        }
    }
#pragma unroll
    for (int k = 0; k < WIDTH * WIDTH; ++k) {
        const float weight = weights[INPUTS * WIDTH + k];
        for (int p = 0; p < PAIR; ++p) {
            const float active = fmaxf(first[k / WIDTH][p], 0.0f);
            second[k % WIDTH][p] = fmaf(weight, active, second[k % WIDTH][p]);
        }
    }
    y[0] = y[1] = 0.0f;
#pragma unroll
    for (int k = 0; k < WIDTH; ++k) {
        const float weight = weights[(INPUTS + WIDTH) * WIDTH + k];
        for (int p = 0; p < PAIR; ++p) y[p] = fmaf(weight, fmaxf(second[k][p], 0.0f), y[p]);
    }
}

extern "C" __global__ void __launch_bounds__(256, 4)
    ask_experts(const float* __restrict__ inputs, const int* __restrict__ chosen,
                float* __restrict__ answers, int count) {
    __shared__ __align__(16) float weights[EXPERTS * WEIGHTS];
    for (int k = threadIdx.x; k < EXPERTS * WEIGHTS; k += 256) weights[k] = exported_table.all[k];
    __syncthreads();
    const int warp = (blockIdx.x * 256 + threadIdx.x) / 32;
#pragma unroll 1
    for (int group = warp * GROUPS; group < (warp + 1) * GROUPS; ++group) {
        const int sample = group * 32 * PAIR + threadIdx.x % 32;
        float x[INPUTS][PAIR];
        float y[PAIR];
#pragma unroll
        for (int k = 0; k < INPUTS; ++k) {
            x[k][0] = inputs[k * count + sample];
            x[k][1] = inputs[k * count + sample + 32];
        }
        apply(weights + chosen[group] * WEIGHTS, x, y);
        answers[sample] = y[0];
        answers[sample + 32] = y[1];
    }
}
