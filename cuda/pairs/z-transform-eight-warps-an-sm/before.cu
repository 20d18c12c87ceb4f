// z-transform of a signal, all of it in shared memory
//
// 96 KB of samples leave room for two blocks of four warps on an SM, an eighth of what it holds.
// Four points a thread are eight independent chains of multiply-adds, and the FP32 pipe is full all
// the same.
//
// /// kernelprof
// kernel = "transform"
// block = [128]
// grid = ["POINTS // 512"]
// reference = "reference:transform"
// flops = "8 * POINTS * LENGTH"
//
// [sizes]
// POINTS = 811008
// LENGTH = 24576
//
// [check]
// sizes = { POINTS = 512 }
// tolerance = 1e-4
//
// [[arguments]]
// name = "signal"
// type = "float32"
// shape = ["LENGTH"]
//
// [[arguments]]
// name = "real"
// type = "float32"
// shape = ["POINTS"]
// fill = "reference:real"
//
// [[arguments]]
// name = "imaginary"
// type = "float32"
// shape = ["POINTS"]
// fill = "reference:imaginary"
//
// [[arguments]]
// name = "sum_real"
// type = "float32"
// shape = ["POINTS"]
// output = true
//
// [[arguments]]
// name = "sum_imaginary"
// type = "float32"
// shape = ["POINTS"]
// output = true
//
// [[arguments]]
// name = "length"
// type = "int32"
// value = "LENGTH"
//
// [compile]
// standard = "c++17"
// flags = ["-O3"]
// defines = { TILE = 24576 }
//
// [launch]
// shared_bytes = "4 * TILE"
// ///

constexpr int POINTS = 4;  // for each thread

// The z-transform at points within the unit circle by Horner's scheme, from the last sample on.
extern "C" __global__ void __launch_bounds__(128) transform(const float4* __restrict__ signal,
                                                            const float* __restrict__ real,
                                                            const float* __restrict__ imaginary,
                                                            float* __restrict__ sum_real,
                                                            float* __restrict__ sum_imaginary,
                                                            int length) {
    extern __shared__ float4 samples[];
    const int first = blockIdx.x * (POINTS * 128) + threadIdx.x;
    float x[POINTS], y[POINTS], sum_x[POINTS], sum_y[POINTS];
#pragma unroll
    for (int p = 0; p < POINTS; ++p) {
        x[p] = real[first + p * 128];
        y[p] = imaginary[first + p * 128];
        sum_x[p] = 0.0f;
        sum_y[p] = 0.0f;
    }
    for (int tile = length - TILE; tile >= 0; tile -= TILE) {
        __syncthreads();
#pragma unroll 6
        for (int k = 0; k < TILE / 4; k += 128) {
            samples[k + threadIdx.x] = signal[tile / 4 + k + threadIdx.x];
        }
        __syncthreads();
#pragma unroll 2
        for (int k = TILE / 4 - 1; k >= 0; --k) {
            const float4 four = samples[k];
            const float sample[4] = {four.w, four.z, four.y, four.x};
#pragma unroll
            for (int s = 0; s < 4; ++s) {
#pragma unroll
                for (int p = 0; p < POINTS; ++p) {
                    const float turned = fmaf(sum_x[p], x[p], fmaf(-sum_y[p], y[p], sample[s]));
                    sum_y[p] = fmaf(sum_x[p], y[p], sum_y[p] * x[p]);
                    sum_x[p] = turned;
                }
            }
        }
    }
#pragma unroll
    for (int p = 0; p < POINTS; ++p) {
        sum_real[first + p * 128] = sum_x[p];
        sum_imaginary[first + p * 128] = sum_y[p];
    }
}
