// Cross-fade of two tracks, one float a thread
//
// Each request of a warp touches 4 sectors. The bytes are the same, and four times the instructions
// ask for them.
//
// /// kernelprof
// kernel = "cross_fade"
// block = [256]
// grid = ["N // 256"]
// reference = "reference:cross_fade"
// min_bytes = "12 * N"
//
// [sizes]
// N = 25165824
//
// [check]
// sizes = { N = 65536 }
//
// [[arguments]]
// name = "one"
// type = "float32"
// shape = ["N"]
//
// [[arguments]]
// name = "other"
// type = "float32"
// shape = ["N"]
//
// [[arguments]]
// name = "mix"
// type = "float32"
// shape = ["N"]
// output = true
//
// [[arguments]]
// name = "share"
// type = "float32"
// value = 0.375
//
// [compile]
// standard = "c++17"
// flags = ["-O3"]
// ///

extern "C" __global__ void cross_fade(const float* __restrict__ one,
                                      const float* __restrict__ other,
                                      float* __restrict__ mix, float share) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float a = one[i];
    const float b = other[i];
    const float rest = 1.0f - share;
    mix[i] = fmaf(share, a, rest * b);
}
