// Gaussian blur of 15 x 15 taps as one sum over the square
//
// Each thread walks down two columns. A row of the image is read once and goes into the 15 output
// rows that are under way: 225 multiply-adds a pixel, although the filter is a product of two.
//
// /// kernelprof
// kernel = "blur"
// block = [128]
// grid = ["width // 256", "height // STRIP"]
// reference = "reference:blur"
// min_bytes = "4 * (width * height + (width + 14) * (height + 14))"
//
// [sizes]
// width = 4096
// height = 4096
//
// [check]
// sizes = { width = 256, height = 128 }
//
// [[arguments]]
// name = "padded"
// type = "float32"
// shape = ["height + 14", "width + 14"]
//
// [[arguments]]
// name = "out"
// type = "float32"
// shape = ["height", "width"]
// output = true
//
// [[arguments]]
// name = "width"
// type = "int32"
// value = "width"
//
// [compile]
// flags = ["-O3"]
// standard = "c++17"
// defines = { STRIP = 64 }
// ///

constexpr int kTaps = 15;

// Binomial weights, which come close to a Gaussian of variance 3.5.
constexpr float kUnit = 1.0f / 16384.0f;
__device__ constexpr float kWeight[kTaps] = {
    1 * kUnit,    14 * kUnit,   91 * kUnit,   364 * kUnit,  1001 * kUnit,
    2002 * kUnit, 3003 * kUnit, 3432 * kUnit, 3003 * kUnit, 2002 * kUnit,
    1001 * kUnit, 364 * kUnit,  91 * kUnit,   14 * kUnit,   1 * kUnit,
};

extern "C" __global__ void blur(const float* __restrict__ padded, float* __restrict__ out,
                                int width) {
    const int column = 2 * (blockIdx.x * blockDim.x + threadIdx.x);
    const int first = blockIdx.y * STRIP;
    const int pitch = width + kTaps - 1;
    const float* from = padded + static_cast<size_t>(first) * pitch + column;
    float* to = out + static_cast<size_t>(first) * width + column;

    // left[k] and right[k] belong to the output row that has seen 14 - k rows before this one.
    float left[kTaps + 1] = {};
    float right[kTaps + 1] = {};
#pragma unroll 1
    for (int row = 0; row < STRIP + kTaps - 1; ++row) {
        float x[kTaps + 1];
#pragma unroll
        for (int i = 0; i < kTaps + 1; i += 2) {
            const float2 two = *reinterpret_cast<const float2*>(from + i);
            x[i] = two.x;
            x[i + 1] = two.y;
        }
        from += pitch;
#pragma unroll
        for (int k = 0; k < kTaps; ++k) {
            float l = left[k + 1];
            float r = right[k + 1];
#pragma unroll
            for (int i = 0; i < kTaps; ++i) {
                l = fmaf(kWeight[kTaps - 1 - k] * kWeight[i], x[i], l);
                r = fmaf(kWeight[kTaps - 1 - k] * kWeight[i], x[i + 1], r);
            }
            left[k] = l;
            right[k] = r;
        }
        if (row >= kTaps - 1) {
            *reinterpret_cast<float2*>(to) = make_float2(left[0], right[0]);
            to += width;
        }
    }
}
