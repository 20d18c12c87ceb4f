// Products of many 32 x 32 matrices with their own transposes, padded
//
// Rows of the tile are 36 floats long: 8 lanes that read 16 bytes each meet every bank once.
//
// /// kernelprof
// kernel = "gram"
// block = [32, 8]
// grid = ["count"]
// reference = "reference:gram"
// flops = "65536 * count"
// min_bytes = "8192 * count"
//
// [sizes]
// count = 16384
//
// [check]
// sizes = { count = 300 }
//
// [[arguments]]
// name = "windows"
// type = "float32"
// shape = ["count", 32, 32]
//
// [[arguments]]
// name = "products"
// type = "float32"
// shape = ["count", 32, 32]
// output = true
//
// [compile]
// flags = ["-O3"]
// defines = { PAD = 4 }
// standard = "c++17"
// ///

constexpr int SIZE = 32;
constexpr int ROWS = 4;  // of the product, to a thread

extern "C" __global__ void gram(const float* __restrict__ windows, float* __restrict__ products) {
    alignas(16) __shared__ float tile[SIZE][SIZE + PAD];
    const size_t first = static_cast<size_t>(blockIdx.x) * SIZE * SIZE;
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        const int row = threadIdx.y + r * (SIZE / ROWS);
        tile[row][threadIdx.x] = windows[first + row * SIZE + threadIdx.x];
    }
    __syncthreads();
    float sums[ROWS] = {};
#pragma unroll
    for (int k = 0; k < SIZE; ++k) {
        const float right = tile[threadIdx.x][k];
#pragma unroll
        for (int r = 0; r < ROWS; ++r) {
            sums[r] = fmaf(tile[threadIdx.y + r * (SIZE / ROWS)][k], right, sums[r]);
        }
    }
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        const int row = threadIdx.y + r * (SIZE / ROWS);
        products[first + row * SIZE + threadIdx.x] = sums[r];
    }
}
