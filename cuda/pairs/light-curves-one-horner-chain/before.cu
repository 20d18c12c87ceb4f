// Power of light curves, each a long series evaluated by Horner's rule
//
// A thread keeps the 200 terms of its star in registers, so that an SM holds eight warps and no
// more. Each multiply-add of Horner's rule needs the result of the one before it, and two warps of
// a scheduler cannot fill the four cycles that it takes.
//
// /// kernelprof
// kernel = "mean_squares"
// block = [256]
// grid = ["stars // 256"]
// reference = "reference:mean_squares"
// flops = "2 * 200 * 512 * stars"
// min_bytes = "4 * 201 * stars"
//
// [sizes]
// stars = 135168
//
// [check]
// sizes = { stars = 512 }
//
// [[arguments]]
// name = "series"
// type = "float32"
// shape = [200, "stars"]
// fill = "reference:series"
//
// [[arguments]]
// name = "times"
// type = "float32"
// shape = [512]
// fill = "reference:times"
//
// [[arguments]]
// name = "result"
// type = "float32"
// shape = ["stars"]
// output = true
//
// [[arguments]]
// name = "stars"
// type = "int32"
// value = "stars"
//
// [compile]
// flags = ["-O3"]
// standard = "c++17"
// ///

constexpr int TERMS = 200;  // of a star's series: they stay in registers
constexpr int TIMES = 512;

extern "C" __global__ void __launch_bounds__(256, 1)
    mean_squares(const float* __restrict__ series, const float* __restrict__ times,
                 float* __restrict__ result, int stars) {
    __shared__ float at[TIMES];
    for (int i = threadIdx.x; i < TIMES; i += 256) at[i] = times[i];
    __syncthreads();

    const int star = blockIdx.x * 256 + threadIdx.x;
    float term[TERMS];
#pragma unroll
    for (int k = 0; k < TERMS; ++k) term[k] = series[k * stars + star];
    float sum = 0.0f;
#pragma unroll 1
    for (int i = 0; i < TIMES; ++i) {
        const float t = at[i];
        float light = term[TERMS - 1];
#pragma unroll
        for (int k = TERMS - 2; k >= 0; --k) light = fmaf(light, t, term[k]);
        sum = fmaf(light, light, sum);
    }
    result[star] = sum / TIMES;
}
