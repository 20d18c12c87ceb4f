// Mean of a polynomial, run-time modulus and a loop over its terms
//
// The remainder by a modulus known only at run time costs some eighty integer instructions a point,
// and the loop over twenty terms, not unrolled, five instructions for each multiply-add. Either
// takes about half of the issue slots.
//
// /// kernelprof
// kernel = "mean"
// block = [256]
// grid = ["threads // 256"]
// reference = "reference:mean"
//
// [sizes]
// threads = 270336
// POINTS = 256
//
// [check]
// sizes = { threads = 4096 }
// tolerance = 1e-5
//
// [[arguments]]
// name = "coefficients"
// type = "float32"
// shape = [20]
//
// [[arguments]]
// name = "means"
// type = "float32"
// shape = ["threads"]
// output = true
//
// [[arguments]]
// name = "modulus"
// type = "uint64"
// value = "2**48"
//
// [[arguments]]
// name = "points"
// type = "int32"
// value = "POINTS"
//
// [compile]
// standard = "c++17"
// flags = ["-O3"]
// ///

constexpr int TERMS = 20;

// Mean of a polynomial over pseudo-random points of (0, 1), drawn by drand48's generator.
extern "C" __global__ void __launch_bounds__(256, 8)
    mean(const float* __restrict__ coefficients, float* __restrict__ means,
         unsigned long long modulus, int points) {
    __shared__ float c[TERMS];
    if (threadIdx.x < TERMS) c[threadIdx.x] = coefficients[threadIdx.x];
    __syncthreads();
    const int thread = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned long long x = 0x330eull + 0x10000ull * thread;
    float sum = 0.0f;
#pragma unroll 1
    for (int k = 0; k < points; ++k) {
        x = (x * 0x5deece66dull + 11ull) % modulus;
        const float at = static_cast<unsigned int>(x >> 16) * (1.0f / 4294967296.0f);
        float value = c[TERMS - 1];
#pragma unroll 1
        for (int term = TERMS - 2; term >= 0; --term) value = fmaf(value, at, c[term]);
        sum += value;
    }
    means[thread] = sum / points;
}
