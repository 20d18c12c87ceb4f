extern "C" __global__ void block_sum(const float *values, float *sums, int n)
{
    __shared__ float tile[256];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    tile[threadIdx.x] = i < n ? values[i * 8] : 0.0f;
    __syncthreads();
    for (int step = 128; step > 0; step /= 2) {
        if (threadIdx.x < step)
            tile[threadIdx.x] += tile[threadIdx.x + step];
    }
    if (threadIdx.x == 0)
        sums[blockIdx.x] = tile[0];
}
