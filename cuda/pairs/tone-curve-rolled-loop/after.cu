// Tone curve as a power series of 128 terms, 16 terms a turn of the loop
//
// Unrolled by 16, the counter and the branch are paid once for 16 terms, and one load brings the
// coefficients of four.
//
// /// kernelprof
// kernel = "tone_curve"
// block = [256]
// grid = ["ceil_div(pixels, 256)"]
// reference = "reference:tone_curve"
// flops = "6 * 128 * pixels"
// min_bytes = "24 * pixels"
//
// [sizes]
// pixels = 4194304
//
// [check]
// sizes = { pixels = 20000 }
//
// [[arguments]]
// name = "image"
// type = "float32"
// shape = ["pixels", 3]
//
// [[arguments]]
// name = "series"
// type = "float32"
// shape = [128]
// fill = "reference:series"
//
// [[arguments]]
// name = "result"
// type = "float32"
// shape = ["pixels", 3]
// output = true
//
// [[arguments]]
// name = "pixels"
// type = "int32"
// value = "pixels"
//
// [compile]
// flags = ["-O3"]
// standard = "c++17"
// ///

constexpr int TERMS = 128;

extern "C" __global__ void __launch_bounds__(256)
    tone_curve(const float* __restrict__ image, const float* __restrict__ series,
               float* __restrict__ result, int pixels) {
    __shared__ __align__(16) float terms[TERMS];
    if (threadIdx.x < TERMS) terms[threadIdx.x] = series[threadIdx.x];
    __syncthreads();

    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= pixels) return;
    const float* pixel = image + 3 * static_cast<size_t>(i);
    const float red = pixel[0];
    const float green = pixel[1];
    const float blue = pixel[2];
    float3 toned = {0.0f, 0.0f, 0.0f};
#pragma unroll 16
    for (int k = TERMS - 1; k >= 0; --k) {
        const float term = terms[k];
        toned.x = fmaf(toned.x, red, term);
        toned.y = fmaf(toned.y, green, term);
        toned.z = fmaf(toned.z, blue, term);
    }
    float* to = result + 3 * static_cast<size_t>(i);
    to[0] = toned.x;
    to[1] = toned.y;
    to[2] = toned.z;
}
