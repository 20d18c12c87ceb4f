// Transpose by way of a 64 x 64 tile with padded rows
//
// Reads and writes run in order over 256 bytes, 16 of them are under way a thread, and the tile's
// rows of 65 floats keep columns free of bank conflicts. What is left is the traffic itself.
//
// /// kernelprof
// kernel = "transpose"
// block = [32, 8]
// grid = ["N // 64", "M // 64"]
// reference = "transpose"
// min_bytes = "8 * M * N"
//
// [sizes]
// M = 4096
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
// standard = "c++17"
// flags = ["-O3"]
// ///

extern "C" __global__ void transpose(const float* __restrict__ a, float* __restrict__ b, int M,
                                     int N) {
    __shared__ float tile[64][65];
    const int column = blockIdx.x * 64 + threadIdx.x;
    const int row = blockIdx.y * 64 + threadIdx.y;
#pragma unroll
    for (int step = 0; step < 64; step += 8) {
        const float* from = a + static_cast<size_t>(row + step) * N + column;
        tile[threadIdx.y + step][threadIdx.x] = from[0];
        tile[threadIdx.y + step][threadIdx.x + 32] = from[32];
    }
    __syncthreads();
    const int to_column = blockIdx.y * 64 + threadIdx.x;
    const int to_row = blockIdx.x * 64 + threadIdx.y;
#pragma unroll
    for (int step = 0; step < 64; step += 8) {
        float* to = b + static_cast<size_t>(to_row + step) * M + to_column;
        to[0] = tile[threadIdx.x][threadIdx.y + step];
        to[32] = tile[threadIdx.x + 32][threadIdx.y + step];
    }
}
