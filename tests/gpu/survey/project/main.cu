#include <cstdio>

#include "sums.cuh"

int main() {
    int rows = 4096, columns = 8192;
    float *matrix, *sums;
    if (cudaMalloc(&matrix, sizeof(float) * rows * columns)) return 1;
    if (cudaMalloc(&sums, sizeof(float) * columns)) return 1;
    cudaMemset(matrix, 0, sizeof(float) * rows * columns);
    for (int number = 0; number < 100; number++) sum_columns(matrix, sums, rows, columns);
    cudaError_t error = cudaDeviceSynchronize();
    std::printf("%s\n", cudaGetErrorString(error));
    return error != cudaSuccess;
}
