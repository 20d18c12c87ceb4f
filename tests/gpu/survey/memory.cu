// Holds memory that a kernel does not touch, and has it write some: MB held, MB written, launches.
#include <cstdio>
#include <cstdlib>

__global__ void fill(float* x, float value, size_t n) {
    for (size_t at = blockIdx.x * (size_t)blockDim.x + threadIdx.x; at < n;
         at += (size_t)gridDim.x * blockDim.x)
        x[at] = value;
}

int main(int argc, char** argv) {
    if (argc != 4) return 2;
    size_t held = std::atoll(argv[1]) << 20, written = std::atoll(argv[2]) << 20;
    void* idle;
    float* x;
    if (cudaMalloc(&idle, held) || cudaMalloc(&x, written)) return 1;
    if (cudaMemset(idle, 0, held)) return 1;
    for (int number = 0; number < std::atoi(argv[3]); number++)
        fill<<<1056, 256>>>(x, number, written / sizeof(float));
    cudaError_t error = cudaDeviceSynchronize();
    std::puts(cudaGetErrorString(error));
    return error != cudaSuccess;
}
