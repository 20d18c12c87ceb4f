// Entropy of each token's distribution over the vocabulary, in three passes
//
// The largest logit, the sum of exponentials and the mean of log p are a pass each. A row is
// 512 KB and 264 rows are under way at once, so neither L1 nor L2 holds one until the next pass.
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

    float high = -INFINITY;
#pragma unroll 4
    for (int i = threadIdx.x; i < quads; i += THREADS) {
        const float4 x = row[i];
        high = fmaxf(high, fmaxf(fmaxf(x.x, x.y), fmaxf(x.z, x.w)));
    }
    high = over_block(high, scratch, most);

    float sum = 0.0f;
#pragma unroll 4
    for (int i = threadIdx.x; i < quads; i += THREADS) {
        const float4 x = row[i];
        sum += __expf(x.x - high) + __expf(x.y - high) + __expf(x.z - high) + __expf(x.w - high);
    }
    const float log_sum = high + logf(over_block(sum, scratch, add));

    // Minus the mean of log p; p is the exponential of log p = x - log_sum.
    float mean = 0.0f;
#pragma unroll 4
    for (int i = threadIdx.x; i < quads; i += THREADS) {
        const float4 x = row[i];
        mean += __expf(x.x - log_sum) * (log_sum - x.x) + __expf(x.y - log_sum) * (log_sum - x.y) +
                __expf(x.z - log_sum) * (log_sum - x.z) + __expf(x.w - log_sum) * (log_sum - x.w);
    }
    mean = over_block(mean, scratch, add);
    if (threadIdx.x == 0) entropy[blockIdx.x] = mean;
}
