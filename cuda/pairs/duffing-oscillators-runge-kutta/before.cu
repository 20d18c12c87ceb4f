// Runge-Kutta steps for an ensemble of Duffing oscillators
//
// Each thread carries one damped oscillator with a cubic spring through all time steps in
// registers. About 30 multiply-adds a step and next to nothing else fill the FP32 pipe.
//
// /// kernelprof
// kernel = "integrate"
// block = [256]
// grid = ["N // 256"]
// reference = "reference:integrate"
// flops = "48 * N * STEPS"
// min_bytes = "24 * N"
//
// [sizes]
// N = 1081344
// STEPS = 512
//
// [check]
// sizes = { N = 8192, STEPS = 64 }
// tolerance = 1e-4
//
// [[arguments]]
// name = "start"
// type = "float32"
// shape = ["N"]
//
// [[arguments]]
// name = "speed"
// type = "float32"
// shape = ["N"]
//
// [[arguments]]
// name = "spring"
// type = "float32"
// shape = ["N"]
//
// [[arguments]]
// name = "cubic"
// type = "float32"
// shape = ["N"]
//
// [[arguments]]
// name = "x_end"
// type = "float32"
// shape = ["N"]
// output = true
//
// [[arguments]]
// name = "v_end"
// type = "float32"
// shape = ["N"]
// output = true
//
// [[arguments]]
// name = "steps"
// type = "int32"
// value = "STEPS"
//
// [compile]
// standard = "c++17"
// flags = ["-O3"]
// ///

constexpr float STEP = 0.02f;
constexpr float DAMPING = 0.3f;

__device__ float acceleration(float x, float v, float linear, float cubic) {
    return fmaf(-DAMPING, v, -x * fmaf(cubic, x * x, linear));
}

extern "C" __global__ void integrate(const float* __restrict__ start,
                                     const float* __restrict__ speed,
                                     const float* __restrict__ spring,
                                     const float* __restrict__ cubic, float* __restrict__ x_end,
                                     float* __restrict__ v_end, int steps) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float linear = fmaf(0.5f, spring[i], 1.0f);
    const float third = fmaf(0.25f, cubic[i], 0.5f);
    float x = start[i];
    float v = speed[i];
#pragma unroll 4
    for (int step = 0; step < steps; ++step) {
        const float a1 = acceleration(x, v, linear, third);
        const float v2 = fmaf(0.5f * STEP, a1, v);
        const float a2 = acceleration(fmaf(0.5f * STEP, v, x), v2, linear, third);
        const float v3 = fmaf(0.5f * STEP, a2, v);
        const float a3 = acceleration(fmaf(0.5f * STEP, v2, x), v3, linear, third);
        const float v4 = fmaf(STEP, a3, v);
        const float a4 = acceleration(fmaf(STEP, v3, x), v4, linear, third);
        x = fmaf(STEP / 6.0f, fmaf(2.0f, v2 + v3, v + v4), x);
        v = fmaf(STEP / 6.0f, fmaf(2.0f, a2 + a3, a1 + a4), v);
    }
    x_end[i] = x;
    v_end[i] = v;
}
