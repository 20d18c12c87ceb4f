// The same kernel on each GPU that there is; twice as often on the first.
#include <cstdio>

__global__ void fill(float* x, float value, int n) {
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at < n) x[at] = value;
}

int main() {
    int gpus = 0, n = 1 << 24;
    if (cudaGetDeviceCount(&gpus) || gpus < 2) return 1;
    float* x[2];
    for (int gpu = 0; gpu < 2; gpu++) {
        if (cudaSetDevice(gpu) || cudaMalloc(&x[gpu], n * sizeof(float))) return 1;
    }
    for (int number = 0; number < 300; number++) {
        int gpu = number % 3 == 2;
        cudaSetDevice(gpu);
        fill<<<n / 256, 256>>>(x[gpu], number, n);
    }
    for (int gpu = 0; gpu < 2; gpu++) {
        if (cudaSetDevice(gpu) || cudaDeviceSynchronize()) return 1;
    }
    std::puts("done");
    return 0;
}
