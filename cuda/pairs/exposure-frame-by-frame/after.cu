// First frame at which each pixel is full, eight frames ahead
//
// Eight loads are under way before the first byte is looked at. At most seven frames are read that
// were not needed.
//
// /// kernelprof
// kernel = "find_full"
// block = [256]
// grid = ["ceil_div(pixels, 256)"]
// reference = "reference:find_full"
//
// [sizes]
// pixels = 1048576
// count = 128
//
// [check]
// sizes = { pixels = 5000, count = 128 }
//
// [[arguments]]
// name = "frames"
// type = "uint8"
// shape = ["count", "pixels"]
//
// [[arguments]]
// name = "full"
// type = "int32"
// shape = ["pixels"]
// output = true
//
// [[arguments]]
// name = "pixels"
// type = "int32"
// value = "pixels"
//
// [[arguments]]
// name = "count"
// type = "int32"
// value = "count"
//
// [[arguments]]
// name = "limit"
// type = "int32"
// value = "700"
//
// [compile]
// flags = ["-O3"]
// standard = "c++17"
// ///

constexpr int AHEAD = 8;  // frames that are read before the first of them is needed

extern "C" __global__ void __launch_bounds__(256)
    find_full(const unsigned char* __restrict__ frames, int* __restrict__ full, int pixels,
              int count, int limit) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= pixels) return;
    const unsigned char* pixel = frames + i;
    int sum = 0;
    int frame = 0;
    while (sum < limit && frame < count) {
        int next[AHEAD];
#pragma unroll
        for (int k = 0; k < AHEAD; ++k) next[k] = pixel[static_cast<size_t>(k) * pixels];
        pixel += static_cast<size_t>(AHEAD) * pixels;
#pragma unroll
        for (int k = 0; k < AHEAD; ++k) {
            frame += sum < limit ? 1 : 0;
            sum += next[k];
        }
    }
    full[i] = sum < limit ? count : frame - 1;
}
