// Power of light curves, each a long series evaluated in four chains
//
// The terms are split by their exponent modulo four: four sums in powers of t to the fourth, which
// are put together at the end. Every warp has four multiply-adds to issue at any time.
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
        const float t2 = t * t;
        const float t4 = t2 * t2;
        float part[4] = {term[TERMS - 4], term[TERMS - 3], term[TERMS - 2], term[TERMS - 1]};
#pragma unroll
        for (int k = TERMS - 5; k >= 0; --k) part[k % 4] = fmaf(part[k % 4], t4, term[k]);
        const float light = fmaf(fmaf(part[3], t, part[2]), t2, fmaf(part[1], t, part[0]));
        sum = fmaf(light, light, sum);
    }
    result[star] = sum / TIMES;
}
