// Spectrum of samples at uneven times, a sine and a cosine for each term
//
// Each thread sums 16 neighbouring frequencies over all samples. A term takes two special
// functions, which go through a pipe an eighth as wide as that of the multiply-adds.
//
// /// kernelprof
// kernel = "spectrum"
// block = [256]
// grid = ["frequencies // (256 * EACH)"]
// reference = "reference:spectrum"
//
// [sizes]
// frequencies = 1048576
// samples = 1024
//
// [check]
// sizes = { frequencies = 4096, samples = 512 }
// tolerance = 1e-4
//
// [[arguments]]
// name = "time"
// type = "float32"
// shape = ["samples"]
//
// [[arguments]]
// name = "value"
// type = "float32"
// shape = ["samples"]
//
// [[arguments]]
// name = "out"
// type = "float32"
// shape = ["frequencies", "2"]
// output = true
//
// [[arguments]]
// name = "samples"
// type = "int32"
// value = "samples"
//
// [[arguments]]
// name = "step"
// type = "float32"
// value = 0.0001
//
// [compile]
// flags = ["-O3"]
// standard = "c++17"
// defines = { EACH = 16 }
// ///

constexpr int kTile = 256;

extern "C" __global__ void spectrum(const float* __restrict__ time,
                                    const float* __restrict__ value, float* __restrict__ out,
                                    int samples, float step) {
    __shared__ float2 tile[kTile];
    const int first = (blockIdx.x * kTile + threadIdx.x) * EACH;
    float omega[EACH];
    float re[EACH];
    float im[EACH];
#pragma unroll
    for (int e = 0; e < EACH; ++e) {
        omega[e] = step * (first + e);
        re[e] = 0.0f;
        im[e] = 0.0f;
    }
    for (int start = 0; start < samples; start += kTile) {
        __syncthreads();
        const int i = start + threadIdx.x;
        tile[threadIdx.x] = make_float2(time[i], value[i]);
        __syncthreads();
        for (int k = 0; k < kTile; ++k) {
            const float2 sample = tile[k];
#pragma unroll
            for (int e = 0; e < EACH; ++e) {
                float sine;
                float cosine;
                __sincosf(omega[e] * sample.x, &sine, &cosine);
                re[e] = fmaf(sample.y, cosine, re[e]);
                im[e] = fmaf(sample.y, sine, im[e]);
            }
        }
    }
#pragma unroll
    for (int e = 0; e < EACH; e += 2) {
        reinterpret_cast<float4*>(out)[(first + e) / 2] =
            make_float4(re[e], im[e], re[e + 1], im[e + 1]);
    }
}
