// /// factors
// title = "FFT of 1024 complex samples in shared memory, a transform a block"
// kind = "both pay"
// expect = "Sines cost about 40 instructions a butterfly and conflicts up to 32 wavefronts an access."
//
// [causes.A]
// bottleneck = "fp32-throughput"
// fix = "Read the twiddle factors from a table in global memory, which L1 holds."
//
// [causes.B]
// bottleneck = "shared-bank-conflicts"
// fix = "Insert one unused element after each 32 elements of the array."
// ///
#include "common.cuh"

constexpr int kPoints = 1024, kLog = 10, kTransforms = 8192, kThreads = 256;
#ifdef FIX_B
__device__ int place(int i) { return i + i / 32; }
#else
__device__ int place(int i) { return i; }
#endif

__global__ void __launch_bounds__(kThreads) k(const float* samples, const float2* twiddles, float* power) {
    __shared__ float re[kPoints + kPoints / 32], im[kPoints + kPoints / 32];
    const size_t first = size_t(blockIdx.x) * kPoints;
    for (int i = threadIdx.x; i < kPoints; i += kThreads) {
        const int reversed = __brev(i) >> (32 - kLog);
        re[place(reversed)] = samples[first + i];
        im[place(reversed)] = 0.0f;
    }
    __syncthreads();
    for (int half = 1; half < kPoints; half *= 2) {
        for (int b = threadIdx.x; b < kPoints / 2; b += kThreads) {
            // Butterflies with the same factor go to neighbouring threads.
            const int groups = kPoints / 2 / half;
            const int factor = b / groups, low = (b % groups) * 2 * half + factor, high = low + half;
            float s, c;
#ifdef FIX_A
            const float2 w = twiddles[factor * groups];
            c = w.x;
            s = w.y;
#else
            sincosf(-3.14159265f * factor / half, &s, &c);
#endif
            const float x = re[place(high)], y = im[place(high)];
            const float u = x * c - y * s, v = x * s + y * c;
            const float p = re[place(low)], q = im[place(low)];
            re[place(low)] = p + u;
            im[place(low)] = q + v;
            re[place(high)] = p - u;
            im[place(high)] = q - v;
        }
        __syncthreads();
    }
    for (int i = threadIdx.x; i < kPoints; i += kThreads) {
        power[first + i] = re[place(i)] * re[place(i)] + im[place(i)] * im[place(i)];
    }
}

int main() {
    const size_t n = size_t(kTransforms) * kPoints;
    float* samples = uniform<float>(n, -1.0, 1.0, 12);
    std::vector<float2> factors;
    for (int i = 0; i < kPoints / 2; ++i) {
        const double angle = -2.0 * 3.14159265358979 * i / kPoints;
        factors.push_back(make_float2(float(std::cos(angle)), float(std::sin(angle))));
    }
    const float2* twiddles = upload(factors);
    float* power = zeros<float>(n);
    MEASURE(power, n, k<<<kTransforms, kThreads>>>(samples, twiddles, power));
}
