// A kernel of some microseconds, launched as often as the first argument says.
#include <cstdio>
#include <cstdlib>

__global__ void add(float* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] += 1.0f;
}

int main(int argc, char** argv) {
  int launches = argc > 1 ? atoi(argv[1]) : 8, n = 1 << 22;
  float* x = nullptr;
  if (cudaMalloc(&x, n * sizeof(float)) != cudaSuccess) return 1;
  for (int i = 0; i < launches; ++i) add<<<n / 256, 256>>>(x, n);
  cudaError_t done = cudaDeviceSynchronize();
  printf("%s\n", cudaGetErrorString(done));
  return done != cudaSuccess;
}
