// Partition function over many temperatures
//
// Z = sum of exp(-E / T) over all energy levels, for each temperature. One exponential a level and
// temperature is needed, and the special-function units do nothing else.
//
// /// kernelprof
// kernel = "partition"
// block = [256]
// grid = ["N // 512"]
// reference = "reference:partition"
// min_bytes = "8 * N"
//
// [sizes]
// N = 1081344
// LEVELS = 1024
//
// [check]
// sizes = { N = 4096 }
//
// [[arguments]]
// name = "cold"
// type = "float32"
// shape = ["N"]
//
// [[arguments]]
// name = "levels"
// type = "float32"
// shape = ["LEVELS"]
//
// [[arguments]]
// name = "z"
// type = "float32"
// shape = ["N"]
// output = true
//
// [[arguments]]
// name = "n"
// type = "int32"
// value = "N"
//
// [compile]
// standard = "c++17"
// flags = ["-O3", "--use_fast_math"]
// ///

constexpr int LEVELS = 1024;

extern "C" __global__ void partition(const float* __restrict__ cold,
                                     const float4* __restrict__ levels, float* __restrict__ z,
                                     int n) {
    __shared__ float4 energy[LEVELS / 4];
    energy[threadIdx.x] = levels[threadIdx.x];
    __syncthreads();
    const int first = blockIdx.x * blockDim.x + threadIdx.x;
    const int second = first + n / 2;
    // exp2f is one instruction; the factor of exp is in the temperature.
    const float log2e = 1.44269504f;
    const float one = -log2e * (1.5f + cold[first]);
    const float two = -log2e * (1.5f + cold[second]);
    float sum_one = 0.0f;
    float sum_two = 0.0f;
#pragma unroll 4
    for (int k = 0; k < LEVELS / 4; ++k) {
        const float4 e = energy[k];
        sum_one += (exp2f(one * e.x) + exp2f(one * e.y)) + (exp2f(one * e.z) + exp2f(one * e.w));
        sum_two += (exp2f(two * e.x) + exp2f(two * e.y)) + (exp2f(two * e.z) + exp2f(two * e.w));
    }
    z[first] = sum_one;
    z[second] = sum_two;
}
