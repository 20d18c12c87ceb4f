// /// kernelprof
// kernel = "histogram"
// block = [256]
// grid = [1056]
// reference = "none"
// sizes = { n = 16777216 }
// check.sizes = { n = 100000 }
// arguments = [
//   { name = "keys", type = "uint32", shape = ["n"], fill = "random", limit = 256 },
//   { name = "bins", type = "uint32", shape = [256], fill = "zeros", output = true },
//   { name = "n", type = "int32", value = "n" },
// ]
// ///
__global__ void histogram(const unsigned* keys, unsigned* bins, int n) {
    __shared__ unsigned own[256];
    own[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        atomicAdd(&own[keys[i]], 1u);
    }
    __syncthreads();
    atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
}
