// /// kernelprof
// kernel = "block_sums"
// block = [256]
// grid = ["n // 256"]
// reference = "none"
// sizes = { n = 67108864 }
// check.sizes = { n = 65536 }
// arguments = [
//   { name = "x", type = "float32", shape = ["n"] },
//   { name = "sums", type = "float32", shape = ["n // 256"], output = true },
// ]
// ///
__global__ void block_sums(const float* x, float* sums) {
    __shared__ float part[8];
    const int t = threadIdx.x;
    float sum = x[blockIdx.x * 256 + t];
    for (int by = 16; by > 0; by /= 2) sum += __shfl_down_sync(~0u, sum, by);
    if (t % 32 == 0) part[t / 32] = sum;
    __syncthreads();
    if (t < 32) {
        sum = t < 8 ? part[t] : 0.0f;
        for (int by = 4; by > 0; by /= 2) sum += __shfl_down_sync(~0u, sum, by);
        if (t == 0) sums[blockIdx.x] = sum;
    }
}
