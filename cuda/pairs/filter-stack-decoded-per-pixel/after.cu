// A stack of point filters that is decoded once for eight pixels
//
// A thread takes eight pixels through each step, so that fetching the step, finding its case and
// jumping back are shared by eight.
//
// /// kernelprof
// kernel = "run_stack"
// block = [256]
// grid = ["pixels // 2048"]
// reference = "reference:run_stack"
// min_bytes = "8 * pixels"
//
// [sizes]
// pixels = 4194304
//
// [check]
// sizes = { pixels = 65536 }
//
// [[arguments]]
// name = "image"
// type = "float32"
// shape = ["pixels"]
// fill = "reference:image"
//
// [[arguments]]
// name = "operations"
// type = "int32"
// shape = [48]
// fill = "reference:operations"
//
// [[arguments]]
// name = "amounts"
// type = "float32"
// shape = [48]
// fill = "reference:amounts"
//
// [[arguments]]
// name = "result"
// type = "float32"
// shape = ["pixels"]
// output = true
//
// [compile]
// flags = ["-O3"]
// standard = "c++17"
// ///

constexpr int STEPS = 48;
constexpr int PIXELS = 8;  // of a thread

enum Operation { ADD, SCALE, BEND, FADE };

struct Step {
    int operation;
    float amount;
};

// One step of the stack, for all pixels of a thread.
__device__ void apply(const Step& step, float (&v)[PIXELS]) {
    switch (step.operation) {
        case ADD:
            for (int p = 0; p < PIXELS; ++p) v[p] = v[p] + step.amount;
            break;
        case SCALE:
            for (int p = 0; p < PIXELS; ++p) v[p] = v[p] * step.amount;
            break;
        case BEND:
            for (int p = 0; p < PIXELS; ++p) v[p] = fmaf(step.amount * v[p], v[p], v[p]);
            break;
        default:
            for (int p = 0; p < PIXELS; ++p) v[p] = fmaf(v[p] - 1.0f, step.amount, v[p]);
    }
}

extern "C" __global__ void __launch_bounds__(256)
    run_stack(const float* __restrict__ image, const int* __restrict__ operations,
              const float* __restrict__ amounts, float* __restrict__ result) {
    __shared__ __align__(16) Step stack[STEPS];
    if (threadIdx.x < STEPS) {
        stack[threadIdx.x] = {operations[threadIdx.x], amounts[threadIdx.x]};
    }
    __syncthreads();

    const size_t first = static_cast<size_t>(blockIdx.x) * 256 * PIXELS + threadIdx.x;
    float v[PIXELS];
#pragma unroll
    for (int p = 0; p < PIXELS; ++p) v[p] = image[first + p * 256];
#pragma unroll 4
    for (int s = 0; s < STEPS; ++s) apply(stack[s], v);
#pragma unroll
    for (int p = 0; p < PIXELS; ++p) result[first + p * 256] = v[p];
}
