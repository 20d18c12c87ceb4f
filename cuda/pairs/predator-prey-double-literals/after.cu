// Predators and prey in many habitats, float data under float constants
//
// Runge-Kutta of fourth order with the populations in float. The constants have an f behind them,
// so that every operation of a step is one in FP32.
//
// /// kernelprof
// kernel = "habitats"
// block = [256]
// grid = ["n // 256"]
// reference = "reference:habitats"
//
// [sizes]
// n = 131072
// steps = 1000
//
// [check]
// sizes = { n = 1024 }
// tolerance = 1e-4
//
// [[arguments]]
// name = "growth"
// type = "float32"
// shape = ["n"]
//
// [[arguments]]
// name = "capacity"
// type = "float32"
// shape = ["n"]
//
// [[arguments]]
// name = "hunger"
// type = "float32"
// shape = ["n"]
//
// [[arguments]]
// name = "prey"
// type = "float32"
// shape = ["n"]
// output = true
//
// [[arguments]]
// name = "predators"
// type = "float32"
// shape = ["n"]
// output = true
//
// [[arguments]]
// name = "steps"
// type = "int32"
// value = "steps"
//
// [[arguments]]
// name = "h"
// type = "float32"
// value = 0.015625
//
// [compile]
// flags = ["-O3"]
// standard = "c++17"
// ///

extern "C" __global__ void habitats(const float* __restrict__ growth,
                                    const float* __restrict__ capacity,
                                    const float* __restrict__ hunger, float* __restrict__ prey,
                                    float* __restrict__ predators, int steps, float h) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    // What is read says how far a habitat is from the usual.
    const float a = 1.0f + 0.2f * growth[i];
    const float crowding = 0.25f / (1.0f + 0.2f * capacity[i]);
    const float b = 1.0f + 0.2f * hunger[i];
    const auto of_prey = [=](auto x, auto y) { return x * (a * (1.0f - crowding * x) - 0.6f * y); };
    const auto of_predators = [=](auto x, auto y) { return y * (0.3f * b * x - 0.4f); };

    float x = 1.0f;
    float y = 0.5f;
    for (int step = 0; step < steps; ++step) {
        const auto x1 = of_prey(x, y);
        const auto y1 = of_predators(x, y);
        const auto x2 = of_prey(x + 0.5f * h * x1, y + 0.5f * h * y1);
        const auto y2 = of_predators(x + 0.5f * h * x1, y + 0.5f * h * y1);
        const auto x3 = of_prey(x + 0.5f * h * x2, y + 0.5f * h * y2);
        const auto y3 = of_predators(x + 0.5f * h * x2, y + 0.5f * h * y2);
        const auto x4 = of_prey(x + h * x3, y + h * y3);
        const auto y4 = of_predators(x + h * x3, y + h * y3);
        x += h / 6.0f * (x1 + 2.0f * x2 + 2.0f * x3 + x4);
        y += h / 6.0f * (y1 + 2.0f * y2 + 2.0f * y3 + y4);
    }
    prey[i] = x;
    predators[i] = y;
}
