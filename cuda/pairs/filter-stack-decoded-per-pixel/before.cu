// A stack of point filters that is decoded for each pixel
//
// The 48 steps are data: an operation and an amount each. Every thread has one pixel, for which it
// fetches a step, finds the case, computes one or two floating-point operations and jumps back: a
// dozen instructions around each of them.
//
// /// kernelprof
// kernel = "run_stack"
// block = [256]
// grid = ["pixels // 256"]
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
constexpr int PIXELS = 1;  // of a thread

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
