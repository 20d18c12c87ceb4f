// Quasi-Monte-Carlo integrals, taken from a common counter
//
// A block that is done takes the next integral that nobody has, so that all blocks end within
// one integral of each other.
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
// name = "taken"
// type = "uint32"
// shape = [1]
// fill = "zeros"
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
                     float* __restrict__ attenuation, unsigned* taken, int items) {
    __shared__ int next;
    for (;;) {
        if (threadIdx.x == 0) {
            // Every launch takes this many, so that the next one finds the first again.
            next = atomicAdd(taken, 1u) % (items + gridDim.x);
        }
        __syncthreads();
        const int item = next;
        if (item >= items) {
            break;
        }
        integrate(depth[item], samples[item], &attenuation[item]);
    }
}
