// Mean of the middle half of 32 exposures of each pixel, their number a constant
//
// The loops of the network unroll, every index is a constant, and the values stay in registers.
//
// /// kernelprof
// kernel = "stack_frames"
// block = [256]
// grid = ["ceil_div(pixels, 256)"]
// reference = "reference:stack_frames"
// min_bytes = "4 * (depth + 1) * pixels"
//
// [sizes]
// pixels = 1048576
// depth = 32
//
// [check]
// sizes = { pixels = 20000 }
//
// [[arguments]]
// name = "frames"
// type = "float32"
// shape = ["depth", "pixels"]
//
// [[arguments]]
// name = "stacked"
// type = "float32"
// shape = ["pixels"]
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

constexpr int MOST = 32;
constexpr int depth = MOST;

extern "C" __global__ void stack_frames(const float* __restrict__ frames,
                                        float* __restrict__ stacked, int pixels) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= pixels) {
        return;
    }
    float value[MOST];
    for (int k = 0; k < depth; ++k) {
        value[k] = frames[static_cast<size_t>(k) * pixels + i];
    }
    // A bitonic network: it compares the same places whatever the values are.
    for (int size = 2; size <= depth; size *= 2) {
        for (int step = size / 2; step > 0; step /= 2) {
            for (int k = 0; k < depth / 2; ++k) {
                const int a = 2 * k - (k & (step - 1));
                const int b = a + step;
                const float low = fminf(value[a], value[b]);
                const float high = fmaxf(value[a], value[b]);
                const bool rising = (a & size) == 0;
                value[a] = rising ? low : high;
                value[b] = rising ? high : low;
            }
        }
    }
    float sum = 0.0f;
    for (int k = depth / 4; k < depth - depth / 4; ++k) {
        sum += value[k];
    }
    stacked[i] = sum / (depth / 2);
}
