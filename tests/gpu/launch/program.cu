// A program with its own main() and a kernel whose warps read a column.
#include <cstdio>

__global__ void transpose(const float* in, float* out, int n) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < n && y < n) {
        out[y * n + x] = in[x * n + y];
    }
}

int main() {
    const int n = 4096;
    float *in, *out;
    if (cudaMalloc(&in, sizeof(float) * n * n) || cudaMalloc(&out, sizeof(float) * n * n)) {
        return 1;
    }
    cudaMemset(in, 0, sizeof(float) * n * n);
    const dim3 block(32, 8), grid(n / 32, n / 8);
    transpose<<<grid, block>>>(in, out, n);
    const cudaError_t error = cudaDeviceSynchronize();
    std::printf("%s\n", cudaGetErrorString(error));
    return error != cudaSuccess;
}
