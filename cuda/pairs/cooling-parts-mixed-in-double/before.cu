// Cooling of two kinds of parts, mixed and in double precision
//
// Nearly every warp has both kinds and runs both loops, each with half of its threads. The FP64
// pipe, half as wide as the one for floats, is full of it.
//
// /// kernelprof
// kernel = "cool"
// block = [256]
// grid = ["N // 256"]
// reference = "reference:cool"
// flops = "8 * N * STEPS"
// min_bytes = "12 * N"
//
// [sizes]
// N = 540672
// STEPS = 1024
//
// [check]
// sizes = { N = 8192, STEPS = 128 }
// tolerance = 1e-4
//
// [[arguments]]
// name = "start"
// type = "float32"
// shape = ["N"]
//
// [[arguments]]
// name = "part"
// type = "int32"
// shape = ["N"]
// fill = "reference:mixed_parts"
//
// [[arguments]]
// name = "end"
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

using Real = double;

// Newton cooling with a heat capacity that depends on the temperature, or radiation.
extern "C" __global__ void cool(const float* __restrict__ start, const int* __restrict__ part,
                                float* __restrict__ end, int steps) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    Real t = Real(1) + Real(0.5) * Real(start[i]);
    if (part[i] % 2 == 0) {
#pragma unroll 8
        for (int step = 0; step < steps; ++step) {
            const Real slope = fma(fma(Real(0.31), t, Real(0.17)), t, Real(0.43));
            const Real loss = fma(slope, t, Real(-0.25));
            t = fma(Real(-0.01), loss, t);
        }
    } else {
#pragma unroll 8
        for (int step = 0; step < steps; ++step) {
            const Real square = t * t;
            const Real loss = fma(square, fma(Real(0.21), square, Real(0.11)), Real(-0.19));
            t = fma(Real(-0.01), loss, t);
        }
    }
    end[i] = static_cast<float>(t);
}
