// Three short kernels for small fixtures and for Nsight Compute's own behaviour.
//   ./fixture            the three, once each
//   ./fixture repeat     scale four times, strided twice with two grids
//   ./fixture fail       exit code 7 without a launch
//   ./fixture late       the three, then exit code 7
//   ./fixture crash      the three, then abort()
//   ./fixture fault      a kernel that writes to an address nobody allocated
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>

__global__ void scale(float* a, float f, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i] *= f;
}
__global__ void strided(const float* a, float* b, int n, int stride) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) b[i] = a[(int)((long long)i * stride % n)];
}
__global__ void rounds(float* a, int k) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float v = a[i], w = v + 1;
  for (int r = 0; r < k; ++r) v = fmaf(v, 0.5f, 0.25f), w = fmaf(w, 0.5f, 0.25f);
  a[i] = v + w;
}
__global__ void fault(int* p) { *p = 1; }

int main(int argc, char** argv) {
  const char* mode = argc > 1 ? argv[1] : "";
  if (!strcmp(mode, "fail")) {
    fprintf(stderr, "fixture: asked to fail\n");
    return 7;
  }
  const int n = 1 << 22;
  float *a, *b;
  if (cudaMalloc(&a, n * sizeof(float)) != cudaSuccess || cudaMalloc(&b, n * sizeof(float)) != cudaSuccess) {
    fprintf(stderr, "fixture: no memory on a GPU: %s\n", cudaGetErrorString(cudaGetLastError()));
    return 3;
  }
  cudaMemset(a, 0, n * sizeof(float));
  printf("fixture: start, 1,234 elements and a \"quote\"\n");
  fflush(stdout);
  if (!strcmp(mode, "repeat")) {
    for (int k = 0; k < 4; ++k) scale<<<n / 256, 256>>>(a, 1.5f, n);
    strided<<<n / 256, 256>>>(a, b, n, 33);
    strided<<<n / 512, 512>>>(a, b, n, 33);
  } else if (!strcmp(mode, "fault")) {
    fault<<<1, 1>>>((int*)16);
  } else {
    scale<<<n / 256, 256>>>(a, 1.5f, n);
    cudaDeviceSynchronize();
    printf("fixture: between kernels\n");
    fflush(stdout);
    strided<<<n / 256, 256>>>(a, b, n, 33);
    rounds<<<132 * 8, 256>>>(b, 2000);
  }
  cudaError_t e = cudaDeviceSynchronize();
  printf("fixture: end, %s\n", cudaGetErrorString(e));
  fflush(stdout);
  if (!strcmp(mode, "late")) return 7;
  if (!strcmp(mode, "crash")) abort();
  return e == cudaSuccess ? 0 : 4;
}
