// Quasi-Monte-Carlo integrals, a fixed range of them for each block
//
// The first eighth of the integrals asks for sixteen times the samples of the others, and those
// are all in the ranges of 17 blocks of 132.
//
// /// kernelprof
// kernel = "mean_attenuation"
// block = [1024]
// grid = ["BLOCKS"]
// reference = "reference:attenuations"
//
// [sizes]
// ITEMS = 4224
// BLOCKS = 132
// LONG = 131072
// SHORT = 8192
//
// [check]
// sizes = { ITEMS = 528, BLOCKS = 132, LONG = 4096, SHORT = 1024 }
//
// [[arguments]]
// name = "depth"
// type = "float32"
// shape = ["ITEMS"]
// fill = "reference:depths"
//
// [[arguments]]
// name = "samples"
// type = "int32"
// shape = ["ITEMS"]
// fill = "reference:sample_counts"
//
// [[arguments]]
// name = "attenuation"
// type = "float32"
// shape = ["ITEMS"]
// output = true
//
// [[arguments]]
// name = "items"
// type = "int32"
// value = "ITEMS"
//
// [compile]
// flags = ["-O3"]
// standard = "c++17"
// ///

// Mean of exp(-depth * distance) over a unit square, by an additive recurrence.
__device__ void integrate(float depth, int samples, float* result) {
    __shared__ float sums[32];
    float sum = 0.0f;
    for (int k = threadIdx.x; k < samples; k += blockDim.x) {
        const float u = __uint_as_float(0x3f800000u | 3242174889u * k >> 9) - 1.0f;
        const float v = __uint_as_float(0x3f800000u | 2447445413u * k >> 9) - 1.0f;
        sum += expf(-depth * sqrtf(u * u + v * v));
    }
#pragma unroll
    for (int step = 16; step > 0; step /= 2) {
        sum += __shfl_down_sync(~0u, sum, step);
    }
    if (threadIdx.x % 32 == 0) {
        sums[threadIdx.x / 32] = sum;
    }
    __syncthreads();
    if (threadIdx.x < 32) {
        sum = sums[threadIdx.x];
#pragma unroll
        for (int step = 16; step > 0; step /= 2) {
            sum += __shfl_down_sync(~0u, sum, step);
        }
        if (threadIdx.x == 0) {
            *result = sum / samples;
        }
    }
    __syncthreads();
}

extern "C" __global__ void __launch_bounds__(1024)
    mean_attenuation(const float* __restrict__ depth, const int* __restrict__ samples,
                     float* __restrict__ attenuation, int items) {
    const int each = (items + gridDim.x - 1) / gridDim.x;
    const int first = blockIdx.x * each;
    for (int item = first; item < min(first + each, items); ++item) {
        integrate(depth[item], samples[item], &attenuation[item]);
    }
}
