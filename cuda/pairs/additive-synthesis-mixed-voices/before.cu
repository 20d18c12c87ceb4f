// Additive synthesis of two voices, mixed within warps
//
// Nearly every warp has samples of both voices and runs both loops, each with half of its threads.
// Four special functions a partial fill their units, where two would do.
//
// /// kernelprof
// kernel = "sing"
// block = [256]
// grid = ["N // 256"]
// reference = "reference:sing"
// min_bytes = "12 * N"
//
// [sizes]
// N = 1081344
//
// [check]
// sizes = { N = 4096 }
// tolerance = 1e-4
//
// [[arguments]]
// name = "time"
// type = "float32"
// shape = ["N"]
//
// [[arguments]]
// name = "voice"
// type = "int32"
// shape = ["N"]
// fill = "reference:mixed_voices"
//
// [[arguments]]
// name = "partials"
// type = "float32"
// shape = [256, 4]
//
// [[arguments]]
// name = "sound"
// type = "float32"
// shape = ["N"]
// output = true
//
// [compile]
// standard = "c++17"
// flags = ["-O3", "--use_fast_math"]
// ///

constexpr int PARTIALS = 256;

// Partials are (frequency, phase, cosine, sine); a voice has octaves or twelfths above them.
extern "C" __global__ void sing(const float* __restrict__ time, const int* __restrict__ voice,
                                const float4* __restrict__ partials, float* __restrict__ sound) {
    __shared__ float4 partial[PARTIALS];
    partial[threadIdx.x] = partials[threadIdx.x];
    __syncthreads();
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float t = time[i];
    float sum = 0.0f;
    if (voice[i] % 2 == 0) {
#pragma unroll 4
        for (int k = 0; k < PARTIALS; ++k) {
            const float angle = fmaf(6.0f * partial[k].x, t, 3.0f * partial[k].y);
            const float c = __cosf(angle);
            const float s = __sinf(angle);
            const float octave_c = __cosf(2.0f * angle);
            const float octave_s = __sinf(2.0f * angle);
            sum = fmaf(partial[k].z, fmaf(0.5f, octave_c, c), sum);
            sum = fmaf(partial[k].w, fmaf(0.5f, octave_s, s), sum);
        }
    } else {
#pragma unroll 4
        for (int k = 0; k < PARTIALS; ++k) {
            const float angle = fmaf(6.0f * partial[k].x, t, 3.0f * partial[k].y);
            const float c = __cosf(angle);
            const float s = __sinf(angle);
            const float twelfth_c = __cosf(3.0f * angle);
            const float twelfth_s = __sinf(3.0f * angle);
            sum = fmaf(partial[k].z, fmaf(-0.25f, twelfth_c, c), sum);
            sum = fmaf(partial[k].w, fmaf(0.25f, twelfth_s, s), sum);
        }
    }
    sound[i] = sum;
}
