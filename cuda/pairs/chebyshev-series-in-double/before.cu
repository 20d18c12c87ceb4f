// A Chebyshev series in double precision by Clenshaw's recurrence
//
// Two FP64 operations a coefficient and point, and one shared load for the eight of four points.
// The recurrence needs them all, and the FP64 pipe is full of them.
//
// /// kernelprof
// kernel = "chebyshev"
// block = [256]
// grid = ["N // 1024"]
// reference = "reference:chebyshev"
// flops = "3 * N * K"
// min_bytes = "16 * N"
//
// [sizes]
// N = 8650752
// K = 256
//
// [check]
// sizes = { N = 16384 }
//
// [[arguments]]
// name = "x"
// type = "float64"
// shape = ["N"]
//
// [[arguments]]
// name = "coefficients"
// type = "float64"
// shape = ["K"]
//
// [[arguments]]
// name = "sums"
// type = "float64"
// shape = ["N"]
// output = true
//
// [compile]
// standard = "c++17"
// flags = ["-O3"]
// ///

constexpr int TERMS = 256;
constexpr int POINTS = 4;

extern "C" __global__ void chebyshev(const double* __restrict__ x,
                                     const double* __restrict__ coefficients,
                                     double* __restrict__ sums) {
    __shared__ double c[TERMS];
    c[threadIdx.x] = coefficients[threadIdx.x];
    __syncthreads();
    const int first = blockIdx.x * blockDim.x + threadIdx.x;
    const int apart = gridDim.x * blockDim.x;
    double at[POINTS], twice[POINTS], last[POINTS], before[POINTS];
#pragma unroll
    for (int p = 0; p < POINTS; ++p) {
        at[p] = x[first + p * apart];
        twice[p] = 2.0 * at[p];
        last[p] = 0.0;
        before[p] = 0.0;
    }
#pragma unroll 8
    for (int k = TERMS - 1; k > 0; --k) {
        const double term = c[k];
#pragma unroll
        for (int p = 0; p < POINTS; ++p) {
            const double next = fma(twice[p], last[p], term - before[p]);
            before[p] = last[p];
            last[p] = next;
        }
    }
#pragma unroll
    for (int p = 0; p < POINTS; ++p) {
        sums[first + p * apart] = fma(at[p], last[p], c[0] - before[p]);
    }
}
