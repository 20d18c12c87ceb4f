// Works for a while, and then crashes: "segv" (the default), "abort", "exit", or "kernel", which
// reads from an address that is none.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

__global__ void add(float* x, float value, int n) {
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at < n) x[at] += value;
}

__global__ void stray(float* x) { x[(size_t)1 << 40] = 1; }

int main(int argc, char** argv) {
    const char* how = argc > 1 ? argv[1] : "segv";
    int n = 1 << 22;
    float* x;
    if (cudaMalloc(&x, n * sizeof(float))) return 1;
    for (int number = 0; number < 2000; number++) add<<<n / 256, 256>>>(x, 1, n);
    cudaDeviceSynchronize();
    usleep(300000);
    if (!std::strcmp(how, "kernel")) {
        stray<<<1, 32>>>(x);
        cudaError_t error = cudaDeviceSynchronize();
        std::fprintf(stderr, "%s\n", cudaGetErrorString(error));
        return 3;
    }
    if (!std::strcmp(how, "abort")) std::abort();
    if (!std::strcmp(how, "exit")) _exit(7);
    std::raise(SIGSEGV);
}
