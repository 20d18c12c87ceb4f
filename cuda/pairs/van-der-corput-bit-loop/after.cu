// Integral over a square by Hammersley points, whose bits are reversed by one instruction
//
// The second coordinate of point i is i with its bits in reverse order behind the point. BREV turns
// all 32 bits around at once.
//
// /// kernelprof
// kernel = "dome"
// block = [256]
// grid = ["threads // 256"]
// reference = "reference:dome"
//
// [sizes]
// threads = 131072
// each = 512
//
// [check]
// sizes = { threads = 2048, each = 64 }
//
// [[arguments]]
// name = "out"
// type = "float32"
// shape = ["threads"]
// output = true
//
// [[arguments]]
// name = "each"
// type = "int32"
// value = "each"
//
// [compile]
// flags = ["-O3"]
// standard = "c++17"
// ///

// A float from 0 to 1 with the upper 23 of these bits behind the point.
__device__ __forceinline__ float fraction(unsigned bits) {
    return __uint_as_float(0x3f800000u | (bits >> 9)) - 1.0f;
}

// Volume under (1 - x^2) (1 - y^2): each thread sums its points, a power of two in all.
extern "C" __global__ void dome(float* __restrict__ out, int each) {
    const unsigned threads = gridDim.x * blockDim.x;
    const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
    const float spacing = 1.0f / (static_cast<float>(threads) * each);
    float sum = 0.0f;
    for (int k = 0; k < each; ++k) {
        const unsigned i = k * threads + thread;
        const float x = static_cast<float>(i) * spacing;
        const float y = fraction(__brev(i));
        sum += (1.0f - x * x) * (1.0f - y * y);
    }
    out[thread] = sum * spacing;
}
