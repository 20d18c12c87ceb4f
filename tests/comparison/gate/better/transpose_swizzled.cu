// /// kernelprof
// kernel = "transpose"
// block = [32, 8]
// grid = ["n // 32", "n // 32"]
// reference = "none"
// sizes = { n = 8192 }
// check.sizes = { n = 256 }
// arguments = [
//   { name = "from", type = "float32", shape = ["n", "n"] },
//   { name = "to", type = "float32", shape = ["n", "n"], output = true },
//   { name = "n", type = "int32", value = "n" },
// ]
// ///
__global__ void transpose(const float* from, float* to, int n) {
    __shared__ float tile[32][32];
    const int x = blockIdx.x * 32, y = blockIdx.y * 32;
    for (int j = threadIdx.y; j < 32; j += 8) {
        tile[j][threadIdx.x ^ j] = from[(y + j) * n + x + threadIdx.x];
    }
    __syncthreads();
    for (int j = threadIdx.y; j < 32; j += 8) {
        to[(x + j) * n + y + threadIdx.x] = tile[threadIdx.x][j ^ threadIdx.x];
    }
}
