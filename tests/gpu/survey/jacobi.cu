// A solver as people write it: 6,000 sweeps, and a norm 64 times in between: 6,064 launches.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <utility>

#define CHECK(call)                                                                   \
    if (cudaError_t error = (call)) {                                                 \
        std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(error));           \
        std::exit(1);                                                                 \
    }

__global__ void sweep(const float* before, float* after, int n) {
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row == 0 || column == 0 || row >= n - 1 || column >= n - 1) return;
    size_t at = (size_t)row * n + column;
    after[at] = 0.25f * (before[at - 1] + before[at + 1] + before[at - n] + before[at + n]);
}

__global__ void difference(const float* before, const float* after, float* sum, size_t count) {
    float mine = 0;
    for (size_t at = blockIdx.x * (size_t)blockDim.x + threadIdx.x; at < count;
         at += (size_t)gridDim.x * blockDim.x)
        mine += fabsf(after[at] - before[at]);
    for (int offset = 16; offset > 0; offset /= 2)
        mine += __shfl_down_sync(0xffffffffu, mine, offset);
    if (threadIdx.x % 32 == 0) atomicAdd(sum, mine);
}

int main(int argc, char** argv) {
    int n = argc > 1 ? std::atoi(argv[1]) : 4096;
    int sweeps = argc > 2 ? std::atoi(argv[2]) : 6000;
    int checks = argc > 3 ? std::atoi(argv[3]) : 64;
    size_t bytes = (size_t)n * n * sizeof(float);
    float *before, *after, *sum;
    CHECK(cudaMalloc(&before, bytes));
    CHECK(cudaMalloc(&after, bytes));
    CHECK(cudaMalloc(&sum, sizeof(float)));
    CHECK(cudaMemset(before, 0, bytes));
    CHECK(cudaMemset(after, 0, bytes));
    float edge = 1;
    for (int column = 0; column < n; column += 64) {
        CHECK(cudaMemcpy(before + column, &edge, sizeof edge, cudaMemcpyHostToDevice));
        CHECK(cudaMemcpy(after + column, &edge, sizeof edge, cudaMemcpyHostToDevice));
    }
    dim3 block(32, 8), grid((n + 31) / 32, (n + 7) / 8);
    float found = 0;
    for (int number = 1; number <= sweeps; number++) {
        sweep<<<grid, block>>>(before, after, n);
        if (checks && number % (sweeps / checks) == 0) {
            CHECK(cudaMemset(sum, 0, sizeof(float)));
            difference<<<1024, 256>>>(before, after, sum, (size_t)n * n);
            CHECK(cudaMemcpy(&found, sum, sizeof found, cudaMemcpyDeviceToHost));
        }
        std::swap(before, after);
    }
    CHECK(cudaDeviceSynchronize());
    std::printf("difference %g\n", found);
}
