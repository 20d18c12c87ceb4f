// Linear classifier, features loaded once
//
// A thread scores its sample for 128 classes and loads the sample's 16 features once: their
// number is known at compile time, so they are kept in registers. Only the weights, the same
// for all threads of a warp, are loaded in the loop.
//
// /// kernelprof
// kernel = "classify"
// block = [256]
// grid = ["samples // 256"]
// reference = "reference:classify"
// flops = "8 * samples * classes * groups"
// min_bytes = "4 * (samples * (4 * groups + 1) + classes * (4 * groups + 1))"
//
// [sizes]
// samples = 1048576
// classes = 128
// groups = 4
//
// [check]
// sizes = { samples = 4096, classes = 128, groups = 4 }
//
// [[arguments]]
// name = "features"
// type = "float32"
// shape = ["groups", "samples", 4]
//
// [[arguments]]
// name = "weights"
// type = "float32"
// shape = ["classes", "groups", 4]
//
// [[arguments]]
// name = "biases"
// type = "float32"
// shape = ["classes"]
//
// [[arguments]]
// name = "labels"
// type = "int32"
// shape = ["samples"]
// output = true
//
// [[arguments]]
// name = "samples"
// type = "int32"
// value = "samples"
//
// [[arguments]]
// name = "classes"
// type = "int32"
// value = "classes"
//
// [compile]
// flags = ["-O3"]
// standard = "c++17"
// ///

constexpr int GROUPS = 4;  // of a sample; known here, so that they fit registers

extern "C" __global__ void __launch_bounds__(256)
    classify(const float* __restrict__ features, const float* __restrict__ weights,
             const float* __restrict__ biases, int* __restrict__ labels, int samples, int classes) {
    // Features lie in groups of four; a group is stored for all samples, then comes the next.
    const int sample = blockIdx.x * blockDim.x + threadIdx.x;
    const float4* own = reinterpret_cast<const float4*>(features) + sample;
    const float4* weight = reinterpret_cast<const float4*>(weights);
    float4 x[GROUPS];
#pragma unroll
    for (int g = 0; g < GROUPS; ++g) x[g] = own[static_cast<size_t>(g) * samples];
    float best = -INFINITY;
    int label = 0;
    for (int c = 0; c < classes; ++c) {
        float score = biases[c];
#pragma unroll
        for (int g = 0; g < GROUPS; ++g) {
            const float4 w = weight[c * GROUPS + g];
            score += x[g].x * w.x;
            score += x[g].y * w.y;
            score += x[g].z * w.z;
            score += x[g].w * w.w;
        }
        if (score > best) {
            best = score;
            label = c;
        }
    }
    labels[sample] = label;
}
