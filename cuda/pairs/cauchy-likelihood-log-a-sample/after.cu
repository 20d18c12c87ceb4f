// Likelihood of a Cauchy distribution on a grid of places and widths, a logarithm for four samples
//
// Each thread sums the logarithms of four places over all samples. The logarithm of four factors'
// product stands for the sum of their logarithms: no product comes near the largest float.
//
// /// kernelprof
// kernel = "likelihood"
// block = [256]
// grid = ["places // 1024", "widths"]
// reference = "reference:likelihood"
//
// [sizes]
// places = 2048
// widths = 512
// samples = 1024
//
// [check]
// sizes = { places = 1024, widths = 16, samples = 512 }
// tolerance = 1e-4
//
// [[arguments]]
// name = "place"
// type = "float32"
// shape = ["places"]
//
// [[arguments]]
// name = "width"
// type = "float32"
// shape = ["widths"]
// fill = "reference:width"
//
// [[arguments]]
// name = "sample"
// type = "float32"
// shape = ["samples"]
//
// [[arguments]]
// name = "out"
// type = "float32"
// shape = ["widths", "places"]
// output = true
//
// [[arguments]]
// name = "places"
// type = "int32"
// value = "places"
//
// [[arguments]]
// name = "samples"
// type = "int32"
// value = "samples"
//
// [compile]
// flags = ["-O3", "--use_fast_math"]
// standard = "c++17"
// ///

constexpr int kTile = 256;
constexpr int kEach = 4;    // places a thread
constexpr int kGroup = 4;   // samples at a time

extern "C" __global__ void likelihood(const float* __restrict__ place,
                                      const float* __restrict__ width,
                                      const float* __restrict__ sample, float* __restrict__ out,
                                      int places, int samples) {
    __shared__ float tile[kTile];
    const int first = blockIdx.x * kTile * kEach + threadIdx.x;
    const float narrow = 1.0f / width[blockIdx.y];
    float at[kEach];
    float sum[kEach];
#pragma unroll
    for (int e = 0; e < kEach; ++e) {
        at[e] = place[first + e * kTile] * narrow;
        sum[e] = 0.0f;
    }
    for (int start = 0; start < samples; start += kTile) {
        __syncthreads();
        tile[threadIdx.x] = sample[start + threadIdx.x];
        __syncthreads();
        for (int k = 0; k < kTile; k += kGroup) {
            float product[kEach];
#pragma unroll
            for (int g = 0; g < kGroup; ++g) {
#pragma unroll
                for (int e = 0; e < kEach; ++e) {
                    const float away = tile[k + g] * narrow - at[e];
                    product[e] = (g == 0 ? 1.0f : product[e]) * (1.0f + away * away);
                }
            }
#pragma unroll
            for (int e = 0; e < kEach; ++e) sum[e] += __logf(product[e]);
        }
    }
    const float constant = samples * __logf(3.14159265f * width[blockIdx.y]);
#pragma unroll
    for (int e = 0; e < kEach; ++e) {
        out[static_cast<size_t>(blockIdx.y) * places + first + e * kTile] = -(constant + sum[e]);
    }
}
