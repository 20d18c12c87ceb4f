// Entropy of each token's distribution over the vocabulary, in one pass
//
// Each thread keeps a running maximum with the two sums that belong to it, and scales them
// down when the maximum grows. Each logit is read once.
//
// /// kernelprof
// kernel = "token_entropy"
// block = [1024]
// grid = ["tokens"]
// reference = "reference:token_entropy"
// min_bytes = "4 * (tokens * vocabulary + tokens)"
//
// [sizes]
// tokens = 512
// vocabulary = 131072
//
// [check]
// sizes = { tokens = 6, vocabulary = 16384 }
//
// [[arguments]]
// name = "logits"
// type = "float32"
// shape = ["tokens", "vocabulary"]
//
// [[arguments]]
// name = "entropy"
// type = "float32"
// shape = ["tokens"]
// output = true
//
// [[arguments]]
// name = "vocabulary"
// type = "int32"
// value = "vocabulary"
//
// [compile]
// flags = ["-O3"]
// standard = "c++17"
// ///

constexpr int THREADS = 1024;


// Combines a value of each thread of the block; each of them gets the result.
template <typename Combine>
__device__ float over_block(float value, float* scratch, Combine combine) {
    for (int apart = 16; apart > 0; apart /= 2) {
        value = combine(value, __shfl_xor_sync(0xffffffffu, value, apart));
    }
    __syncthreads();
    if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = value;
    __syncthreads();
    value = scratch[threadIdx.x % 32];
    for (int apart = 16; apart > 0; apart /= 2) {
        value = combine(value, __shfl_xor_sync(0xffffffffu, value, apart));
    }
    return value;
}

extern "C" __global__ void __launch_bounds__(THREADS, 2)
    token_entropy(const float* __restrict__ logits, float* __restrict__ entropy, int vocabulary) {
    __shared__ float scratch[32];
    const float4* row = reinterpret_cast<const float4*>(
        logits + static_cast<size_t>(blockIdx.x) * vocabulary);
    const int quads = vocabulary / 4;
    const auto add = [](float a, float b) { return a + b; };
    const auto most = [](float a, float b) { return fmaxf(a, b); };

    // Sums of exp(x - high) and of x * exp(x - high) follow the largest value so far.
    float high = -INFINITY;
    float sum = 0.0f;
    float weighted = 0.0f;
#pragma unroll 4
    for (int i = threadIdx.x; i < quads; i += THREADS) {
        const float4 x = row[i];
        const float before = high;
        high = fmaxf(high, fmaxf(fmaxf(x.x, x.y), fmaxf(x.z, x.w)));
        const float fade = __expf(before - high);
        const float a = __expf(x.x - high);
        const float b = __expf(x.y - high);
        const float c = __expf(x.z - high);
        const float d = __expf(x.w - high);
        sum = sum * fade + (a + b + c + d);
        weighted = weighted * fade + (x.x * a + x.y * b + x.z * c + x.w * d);
    }
    const float top = over_block(high, scratch, most);
    const float fade = __expf(high - top);
    sum = over_block(sum * fade, scratch, add);
    weighted = over_block(weighted * fade, scratch, add);
    const float mean = top + logf(sum) - weighted / sum;
    if (threadIdx.x == 0) entropy[blockIdx.x] = mean;
}
