// 7 x 7 edge filter, eight rows of results a thread
//
// A thread goes down 14 rows, and uses each value that it loads for up to seven results:
// 98 loads for eight results instead of 392. The weights are constants in the code.
//
// /// kernelprof
// kernel = "edges"
// block = [32, 8]
// grid = ["width // 32", "height // (8 * ROWS)"]
// reference = "reference:edges"
// flops = "2 * 49 * height * width"
// min_bytes = "4 * (height + 6) * (width + 6) + 4 * height * width"
//
// [sizes]
// height = 4096
// width = 4096
//
// [check]
// sizes = { height = 192, width = 256 }
//
// [[arguments]]
// name = "image"
// type = "float32"
// shape = ["height + 6", "width + 8"]
//
// [[arguments]]
// name = "response"
// type = "float32"
// shape = ["height", "width"]
// output = true
//
// [[arguments]]
// name = "width"
// type = "int32"
// value = "width"
//
// [compile]
// flags = ["-O3"]
// defines = { ROWS = 8 }
// standard = "c++17"
// ///

constexpr int SIDE = 7;

// Laplacian of a Gaussian, by the distance from the centre in y and x.
__device__ constexpr float weight(int y, int x) {
    constexpr float table[4][4] = {{-0.7320f, -0.1940f, 0.2210f, 0.0870f},
                                   {-0.1940f, 0.0640f, 0.1630f, 0.0510f},
                                   {0.2210f, 0.1630f, 0.0680f, 0.0140f},
                                   {0.0870f, 0.0510f, 0.0140f, 0.0020f}};
    return table[y < 0 ? -y : y][x < 0 ? -x : x];
}

extern "C" __global__ void __launch_bounds__(256)
    edges(const float* __restrict__ image, float* __restrict__ response, int width) {
    const int column = blockIdx.x * 32 + threadIdx.x;
    const int row = (blockIdx.y * 8 + threadIdx.y) * ROWS;
    const int pitch = width + 8;
    const float* corner = image + static_cast<size_t>(row) * pitch + column;
    float sums[ROWS] = {};
#pragma unroll
    for (int y = 0; y < ROWS + SIDE - 1; ++y) {
#pragma unroll
        for (int x = 0; x < SIDE; ++x) {
            const float value = corner[y * pitch + x];
#pragma unroll
            for (int r = 0; r < ROWS; ++r) {
                if (y >= r && y < r + SIDE) {
                    sums[r] += weight(y - r - SIDE / 2, x - SIDE / 2) * value;
                }
            }
        }
    }
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        response[static_cast<size_t>(row + r) * width + column] = sums[r];
    }
}
