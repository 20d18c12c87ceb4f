// Robust mean of 7 x 7 pixels, each neighbour checked against the border
//
// Every thread compares the row and the column of each of 49 neighbours with the edges of the
// image and skips those outside, though only the blocks at the rim have any.
//
// /// kernelprof
// kernel = "smooth"
// block = [32, 8]
// grid = ["ceil_div(width, 32)", "ceil_div(height, 8)"]
// reference = "reference:smooth"
// flops = "8 * 49 * width * height"
// min_bytes = "8 * width * height"
//
// [sizes]
// width = 2048
// height = 2048
//
// [check]
// sizes = { width = 300, height = 165 }
//
// [[arguments]]
// name = "image"
// type = "float32"
// shape = ["height", "width"]
//
// [[arguments]]
// name = "result"
// type = "float32"
// shape = ["height", "width"]
// output = true
//
// [[arguments]]
// name = "width"
// type = "int32"
// value = "width"
//
// [[arguments]]
// name = "height"
// type = "int32"
// value = "height"
//
// [[arguments]]
// name = "inverse"
// type = "float32"
// value = "0.5"
//
// [compile]
// flags = ["-O3"]
// standard = "c++17"
// ///

constexpr int REACH = 3;

// Mean around a pixel in which values far from its own count less, by Tukey's biweight. Its scale
// is the range of all values, so that no weight has to be clamped.
template <bool CHECKED>
__device__ float robust_mean(const float* __restrict__ image, int x, int y, int width, int height,
                             float inverse) {
    const float own = image[y * width + x];
    float weights = 0.0f;
    float sum = 0.0f;
#pragma unroll
    for (int row = y - REACH; row <= y + REACH; ++row) {
#pragma unroll
        for (int column = x - REACH; column <= x + REACH; ++column) {
            const bool outside = row < 0 || row >= height || column < 0 || column >= width;
            if (CHECKED && outside) continue;
            const float value = image[row * width + column];
            const float off = (value - own) * inverse;
            const float near = fmaf(-off, off, 1.0f);
            const float weight = near * near;
            weights += weight;
            sum = fmaf(weight, value, sum);
        }
    }
    return sum / weights;
}

extern "C" __global__ void __launch_bounds__(256)
    smooth(const float* __restrict__ image, float* __restrict__ result, int width, int height,
           float inverse) {
    const int x = blockIdx.x * 32 + threadIdx.x;
    const int y = blockIdx.y * 8 + threadIdx.y;
    if (x >= width || y >= height) return;
    result[y * width + x] = robust_mean<true>(image, x, y, width, height, inverse);
}
