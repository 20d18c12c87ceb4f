// N short launches (100,000 without an argument) of three kernels.
#include <cstdio>
#include <cstdlib>

__global__ void scale(float* x, float by, int n) {
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at < n) x[at] *= by;
}

__global__ void shift(float* x, float by, int n) {
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at < n) x[at] += by;
}

__global__ void mix(const float* x, float* y, int n) {
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at < n) y[at] = x[at] + x[(at * 33) % n];
}

int main(int argc, char** argv) {
    int launches = argc > 1 ? std::atoi(argv[1]) : 100000, n = 1 << 16;
    float *x, *y;
    if (cudaMalloc(&x, n * sizeof(float)) || cudaMalloc(&y, n * sizeof(float))) return 1;
    cudaMemset(x, 0, n * sizeof(float));
    for (int number = 0; number < launches; number++) {
        if (number % 10 == 9)
            mix<<<n / 256, 256>>>(x, y, n);
        else if (number % 2)
            scale<<<n / 256, 256>>>(x, 1.0001f, n);
        else
            shift<<<n / 128, 128>>>(x, 0.5f, n);
    }
    cudaError_t error = cudaDeviceSynchronize();
    std::printf("%s\n", cudaGetErrorString(error));
    return error != cudaSuccess;
}
