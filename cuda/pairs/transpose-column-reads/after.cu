// Transpose by way of a tile in shared memory
//
// Both the reads and the writes are in order; the tile turns the block. Its rows are one float
// longer than 32, so that reading down a column meets every bank once.
//
// /// kernelprof
// kernel = "transpose"
// block = [32, 8]
// grid = ["N // 32", "M // 32"]
// reference = "transpose"
// min_bytes = "8 * M * N"
//
// [sizes]
// M = 8192
// N = 8192
//
// [check]
// sizes = { M = 256, N = 512 }
//
// [[arguments]]
// name = "a"
// type = "float32"
// shape = ["M", "N"]
//
// [[arguments]]
// name = "b"
// type = "float32"
// shape = ["N", "M"]
// output = true
//
// [[arguments]]
// name = "M"
// type = "int32"
// value = "M"
//
// [[arguments]]
// name = "N"
// type = "int32"
// value = "N"
//
// [compile]
// flags = ["-O3"]
// ///

extern "C" __global__ void transpose(const float* __restrict__ a, float* __restrict__ b, int M,
                                     int N) {
    __shared__ float tile[32][33];
    const int column = blockIdx.x * 32 + threadIdx.x;
    const int row = blockIdx.y * 32 + threadIdx.y;
#pragma unroll
    for (int step = 0; step < 32; step += 8) {
        tile[threadIdx.y + step][threadIdx.x] = a[static_cast<size_t>(row + step) * N + column];
    }
    __syncthreads();
    const int to_column = blockIdx.y * 32 + threadIdx.x;
    const int to_row = blockIdx.x * 32 + threadIdx.y;
#pragma unroll
    for (int step = 0; step < 32; step += 8) {
        b[static_cast<size_t>(to_row + step) * M + to_column] = tile[threadIdx.x][threadIdx.y + step];
    }
}
