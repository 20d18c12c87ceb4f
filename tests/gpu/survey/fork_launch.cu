// Forks, and launches in the children only; the last child is another program.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/wait.h>
#include <unistd.h>

__global__ void fill(float* x, float value, int n) {
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at < n) x[at] = value;
}

static int work(int launches) {
    int n = 1 << 22;
    float* x;
    if (cudaMalloc(&x, n * sizeof(float))) return 1;
    for (int number = 0; number < launches; number++) fill<<<n / 256, 256>>>(x, number, n);
    return cudaDeviceSynchronize() != cudaSuccess;
}

int main(int argc, char** argv) {
    if (argc > 1) return work(std::atoi(argv[1]));
    for (int child = 1; child <= 3; child++) {
        if (fork() == 0) {
            if (child == 3) {
                execl("/proc/self/exe", argv[0], "300", (char*)nullptr);
                _exit(1);
            }
            std::exit(work(100 * child));
        }
    }
    int failed = 0, status;
    while (wait(&status) > 0) failed |= status;
    std::printf("children ended\n");
    return failed != 0;
}
