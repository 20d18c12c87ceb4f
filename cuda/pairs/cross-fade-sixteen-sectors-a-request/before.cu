// Cross-fade of two tracks, four floats a thread
//
// Each request of a warp touches 16 sectors, four times as many as with single floats, and uses all
// their bytes. Device memory is the limit.
//
// /// kernelprof
// kernel = "cross_fade"
// block = [256]
// grid = ["N // 1024"]
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

extern "C" __global__ void cross_fade(const float4* __restrict__ one,
                                      const float4* __restrict__ other,
                                      float4* __restrict__ mix, float share) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float4 a = one[i];
    const float4 b = other[i];
    const float rest = 1.0f - share;
    mix[i] = make_float4(fmaf(share, a.x, rest * b.x), fmaf(share, a.y, rest * b.y),
                         fmaf(share, a.z, rest * b.z), fmaf(share, a.w, rest * b.w));
}
