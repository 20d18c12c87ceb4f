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
    __shared__ float part[256];
    const int t = threadIdx.x;
    part[t] = x[blockIdx.x * 256 + t];
    __syncthreads();
    for (int half = 128; half > 0; half /= 2) {
        if (t < half) part[t] += part[t + half];
        __syncthreads();
    }
    if (t == 0) sums[blockIdx.x] = part[0];
}
