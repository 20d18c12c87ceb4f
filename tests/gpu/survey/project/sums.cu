#include "sums.cuh"

__global__ void column_sums(const float* matrix, float* sums, int rows, int columns) {
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    if (column >= columns) return;
    float sum = 0;
    for (int row = 0; row < rows; row++) sum += matrix[(size_t)row * columns + column];
    sums[column] = sum;
}

void sum_columns(const float* matrix, float* sums, int rows, int columns) {
    column_sums<<<(columns + 255) / 256, 256>>>(matrix, sums, rows, columns);
}
