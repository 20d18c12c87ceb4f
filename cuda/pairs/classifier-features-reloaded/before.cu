// Linear classifier, features loaded again for each class
//
// A thread scores its sample for 128 classes and loads the sample's 16 features for each: their
// number is an argument, so they cannot be kept in registers. The 16-byte loads are in order
// and hit L1, which delivers 16 bytes a thread for every four FMAs.
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
// [[arguments]]
// name = "groups"
// type = "int32"
// value = "groups"
//
// [compile]
// flags = ["-O3"]
// standard = "c++17"
// ///

extern "C" __global__ void __launch_bounds__(256)
    classify(const float* __restrict__ features, const float* __restrict__ weights,
             const float* __restrict__ biases, int* __restrict__ labels, int samples, int classes,
             int groups) {
    // Features lie in groups of four; a group is stored for all samples, then comes the next.
    const int sample = blockIdx.x * blockDim.x + threadIdx.x;
    const float4* own = reinterpret_cast<const float4*>(features) + sample;
    const float4* weight = reinterpret_cast<const float4*>(weights);
    float best = -INFINITY;
    int label = 0;
    for (int c = 0; c < classes; ++c) {
        float score = biases[c];
#pragma unroll 4
        for (int g = 0; g < groups; ++g) {
            const float4 x = own[static_cast<size_t>(g) * samples];
            const float4 w = weight[c * groups + g];
            score += x.x * w.x;
            score += x.y * w.y;
            score += x.z * w.z;
            score += x.w * w.w;
        }
        if (score > best) {
            best = score;
            label = c;
        }
    }
    labels[sample] = label;
}
