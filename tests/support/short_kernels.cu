// Short kernels and short blocks: how a launch and its blocks begin decides their time.

extern "C" __global__ void put(const float* in, float* out, int n) {
    out[blockIdx.x * blockDim.x + threadIdx.x] = 1.0f;
}

extern "C" __global__ void copy(const float* in, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i];
}

extern "C" __global__ void copy_wide(const float4* in, float4* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i];
}

extern "C" __global__ void swap_neighbors(const float* in, float* out, int n) {
    __shared__ float values[1024];
    values[threadIdx.x] = threadIdx.x;
    for (int k = 0; k < n; ++k) {
        __syncthreads();
        values[threadIdx.x ^ 1] += 1.0f;
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = values[threadIdx.x];
}

extern "C" __global__ void sum_records(const float* in, float* out, int n) {
    float sum = 0.0f;
    for (int j = 0; j < n; j += 8) sum += in[j] * threadIdx.x;
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

extern "C" __global__ void sum_all(const float* in, float* out, int n) {
    float sum = 0.0f;
    for (int j = 0; j < n; ++j) sum += in[j] * threadIdx.x;
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
