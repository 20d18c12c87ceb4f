// Integrals of continued fractions, four points side by side
//
// The chains of different points do not depend on each other: with four of them in every thread the
// special function units always have work.
//
// /// kernelprof
// kernel = "integrate"
// block = [256]
// grid = ["count // 256"]
// reference = "reference:integrate"
// min_bytes = "4 * 201 * count"
//
// [sizes]
// count = 135168
//
// [check]
// sizes = { count = 512 }
//
// [[arguments]]
// name = "fractions"
// type = "float32"
// shape = [200, "count"]
// fill = "reference:fractions"
//
// [[arguments]]
// name = "points"
// type = "float32"
// shape = [256]
// fill = "reference:points"
//
// [[arguments]]
// name = "integrals"
// type = "float32"
// shape = ["count"]
// output = true
//
// [[arguments]]
// name = "count"
// type = "int32"
// value = "count"
//
// [compile]
// flags = ["-O3", "--use_fast_math"]
// standard = "c++17"
// ///

constexpr int LEVELS = 200;  // of a fraction: they stay in registers
constexpr int POINTS = 256;
constexpr int AT_ONCE = 4;  // points that a thread evaluates side by side

extern "C" __global__ void __launch_bounds__(256, 1)
    integrate(const float* __restrict__ fractions, const float* __restrict__ points,
              float* __restrict__ integrals, int count) {
    __shared__ float at[POINTS];
    at[threadIdx.x] = points[threadIdx.x];
    __syncthreads();

    const int i = blockIdx.x * 256 + threadIdx.x;
    float level[LEVELS];
#pragma unroll
    for (int k = 0; k < LEVELS; ++k) level[k] = fractions[k * count + i];
    float sum = 0.0f;
#pragma unroll 1
    for (int point = 0; point < POINTS; point += AT_ONCE) {
        float value[AT_ONCE];
#pragma unroll
        for (int p = 0; p < AT_ONCE; ++p) value[p] = level[LEVELS - 1];
        // From the innermost level outwards: a + x / (b + x / (c + ...)).
#pragma unroll
        for (int k = LEVELS - 2; k >= 0; --k) {
#pragma unroll
            for (int p = 0; p < AT_ONCE; ++p) value[p] = level[k] + at[point + p] / value[p];
        }
#pragma unroll
        for (int p = 0; p < AT_ONCE; ++p) sum += value[p];
    }
    integrals[i] = sum / POINTS;
}
