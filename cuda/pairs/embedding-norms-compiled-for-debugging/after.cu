// Lengths of embeddings, one row a block, compiled with optimization
//
// /// kernelprof
// kernel = "norms"
// block = [256]
// grid = ["M"]
// reference = "reference:norms"
//
// [sizes]
// M = 65536
// N = 1024
//
// [check]
// sizes = { M = 64, N = 300 }
//
// [[arguments]]
// name = "rows"
// type = "float32"
// shape = ["M", "N"]
//
// [[arguments]]
// name = "norm"
// type = "float32"
// shape = ["M"]
// output = true
//
// [[arguments]]
// name = "width"
// type = "int32"
// value = "N"
//
// [compile]
// standard = "c++17"
// ///

constexpr int THREADS = 256;

extern "C" __global__ void norms(const float* __restrict__ rows, float* __restrict__ norm, int width) {
    __shared__ float parts[THREADS];
    const float* row = rows + static_cast<size_t>(blockIdx.x) * width;
    float sum = 0.0f;
    for (int k = threadIdx.x; k < width; k += THREADS) {
        const float value = row[k];
        sum += value * value;
    }
    parts[threadIdx.x] = sum;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) parts[threadIdx.x] += parts[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) norm[blockIdx.x] = sqrtf(parts[0]);
}
