// A small neural network for each pixel, one multiply-add after the other
//
// 24 layers of 16 neurons. Each thread carries four pixels through all of them in registers, with
// the weights in shared memory: 6144 FP32 multiply-adds a pixel for 128 bytes of memory.
//
// /// kernelprof
// kernel = "network"
// block = ["BLOCK"]
// grid = ["pixels // (BLOCK * EACH)"]
// reference = "reference:network"
// flops = "2 * 256 * layers * pixels"
// min_bytes = "128 * pixels"
//
// [sizes]
// pixels = 1048576
// layers = 24
//
// [check]
// sizes = { pixels = 4096 }
// tolerance = 1e-2
//
// [[arguments]]
// name = "features"
// type = "float32"
// shape = ["16", "pixels"]
//
// [[arguments]]
// name = "weights"
// type = "float32"
// shape = ["layers", "16", "16"]
// fill = "reference:weights"
//
// [[arguments]]
// name = "biases"
// type = "float32"
// shape = ["layers", "16"]
// fill = "reference:biases"
//
// [[arguments]]
// name = "out"
// type = "float32"
// shape = ["16", "pixels"]
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
// defines = { BLOCK = 128, EACH = 4, LAYERS = 24 }
// ///

constexpr int kWidth = 16;

extern "C" __global__ void network(const float* __restrict__ features,
                                   const float* __restrict__ weights,
                                   const float* __restrict__ biases, float* __restrict__ out,
                                   int pixels) {
    __shared__ float4 weight[LAYERS * kWidth * kWidth / 4];
    __shared__ float bias[LAYERS * kWidth];
    for (int i = threadIdx.x; i < LAYERS * kWidth * kWidth / 4; i += BLOCK) {
        weight[i] = reinterpret_cast<const float4*>(weights)[i];
    }
    for (int i = threadIdx.x; i < LAYERS * kWidth; i += BLOCK) bias[i] = biases[i];
    __syncthreads();

    const int first = blockIdx.x * BLOCK * EACH + threadIdx.x;
    float h[EACH][kWidth];
#pragma unroll
    for (int e = 0; e < EACH; ++e) {
#pragma unroll
        for (int k = 0; k < kWidth; ++k) {
            h[e][k] = features[static_cast<size_t>(k) * pixels + first + e * BLOCK];
        }
    }

#pragma unroll 1
    for (int layer = 0; layer < LAYERS; ++layer) {
        float sum[EACH][kWidth];
#pragma unroll
        for (int n = 0; n < kWidth; ++n) {
#pragma unroll
            for (int e = 0; e < EACH; ++e) sum[e][n] = bias[layer * kWidth + n];
#pragma unroll
            for (int k = 0; k < kWidth; k += 4) {
                const float4 w = weight[((layer * kWidth + n) * kWidth + k) / 4];
#pragma unroll
                for (int e = 0; e < EACH; ++e) {
                    sum[e][n] = fmaf(w.x, h[e][k], sum[e][n]);
                    sum[e][n] = fmaf(w.y, h[e][k + 1], sum[e][n]);
                    sum[e][n] = fmaf(w.z, h[e][k + 2], sum[e][n]);
                    sum[e][n] = fmaf(w.w, h[e][k + 3], sum[e][n]);
                }
            }
        }
#pragma unroll
        for (int e = 0; e < EACH; ++e) {
#pragma unroll
            for (int n = 0; n < kWidth; ++n) h[e][n] = fmaxf(sum[e][n], 0.0f);
        }
    }
#pragma unroll
    for (int e = 0; e < EACH; ++e) {
#pragma unroll
        for (int k = 0; k < kWidth; ++k) {
            out[static_cast<size_t>(k) * pixels + first + e * BLOCK] = h[e][k];
        }
    }
}
