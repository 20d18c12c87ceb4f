// A server: works on, until somebody ends it.
#include <unistd.h>

__global__ void step(float* x, int n) {
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at < n) x[at] = x[at] * 0.5f + 1;
}

int main() {
    int n = 1 << 24;
    float* x;
    if (cudaMalloc(&x, n * sizeof(float))) return 1;
    for (;;) {
        for (int number = 0; number < 10; number++) step<<<n / 256, 256>>>(x, n);
        cudaDeviceSynchronize();
        usleep(1000);
    }
}
