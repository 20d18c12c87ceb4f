// A small neural network for each pixel, on the tensor cores
//
// 24 layers of 16 neurons. Each warp carries 128 pixels through all of them: eight tiles of 16
// pixels by 16 neurons, FP16 operands and FP32 sums. What a layer gives lies in the registers as
// the next one takes it.
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

#include <cuda_fp16.h>

constexpr int kWidth = 16;

// Two numbers as FP16, the first one in the lower half.
__device__ __forceinline__ unsigned pack(float low, float high) {
    const __half2 two = __floats2half2_rn(low, high);
    return *reinterpret_cast<const unsigned*>(&two);
}

// The same, with what is negative set to zero.
__device__ __forceinline__ unsigned pack_positive(float low, float high) {
    unsigned two;
    asm("cvt.rn.relu.f16x2.f32 %0, %1, %2;" : "=r"(two) : "f"(high), "f"(low));
    return two;
}

// d = a b + c for 16 x 16 times 16 x 8.
__device__ __forceinline__ void multiply(float (&d)[4], const unsigned (&a)[4],
                                         const unsigned (&b)[2], const float (&c)[4]) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};"
        : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(c[0]), "f"(c[1]),
          "f"(c[2]), "f"(c[3]));
}

extern "C" __global__ void network(const float* __restrict__ features,
                                   const float* __restrict__ weights,
                                   const float* __restrict__ biases, float* __restrict__ out,
                                   int pixels) {
    __shared__ __half2 weight[LAYERS * kWidth * kWidth / 2];
    __shared__ float bias[LAYERS * kWidth];
    for (int i = threadIdx.x; i < LAYERS * kWidth * kWidth / 2; i += BLOCK) {
        const float2 two = reinterpret_cast<const float2*>(weights)[i];
        weight[i] = __floats2half2_rn(two.x, two.y);
    }
    for (int i = threadIdx.x; i < LAYERS * kWidth; i += BLOCK) bias[i] = biases[i];
    __syncthreads();

    constexpr int kTiles = 2 * EACH;  // of 16 pixels, for a warp
    const int row = threadIdx.x % 32 / 4;
    const int pair = threadIdx.x % 4 * 2;
    const int first = blockIdx.x * BLOCK * EACH + threadIdx.x / 32 * 32 * EACH + row;
    unsigned h[kTiles][4];
#pragma unroll
    for (int m = 0; m < kTiles; ++m) {
#pragma unroll
        for (int q = 0; q < 4; ++q) {
            const float* from = features + static_cast<size_t>(pair + q / 2 * 8) * pixels;
            from += first + m * 16 + q % 2 * 8;
            h[m][q] = pack(from[0], from[pixels]);
        }
    }

    float sum[kTiles][2][4];
#pragma unroll 1
    for (int layer = 0; layer < LAYERS; ++layer) {
#pragma unroll
        for (int n = 0; n < 2; ++n) {
            const __half2* of = weight + (layer * kWidth + n * 8 + row) * kWidth / 2;
            const unsigned w[2] = {*reinterpret_cast<const unsigned*>(of + pair / 2),
                                   *reinterpret_cast<const unsigned*>(of + pair / 2 + 4)};
            const float low = bias[layer * kWidth + n * 8 + pair];
            const float high = bias[layer * kWidth + n * 8 + pair + 1];
            const float from[4] = {low, high, low, high};
#pragma unroll
            for (int m = 0; m < kTiles; ++m) multiply(sum[m][n], h[m], w, from);
        }
#pragma unroll
        for (int m = 0; m < kTiles; ++m) {
#pragma unroll
            for (int q = 0; q < 4; ++q) {
                const float* two = sum[m][q / 2] + q % 2 * 2;
                h[m][q] = pack_positive(two[0], two[1]);
            }
        }
    }
#pragma unroll
    for (int m = 0; m < kTiles; ++m) {
#pragma unroll
        for (int q = 0; q < 4; ++q) {
            float* to = out + static_cast<size_t>(pair + q / 2 * 8) * pixels;
            to += first + m * 16 + q % 2 * 8;
            to[0] = fmaxf(sum[m][q / 2][q % 2 * 2], 0.0f);
            to[pixels] = fmaxf(sum[m][q / 2][q % 2 * 2 + 1], 0.0f);
        }
    }
}
