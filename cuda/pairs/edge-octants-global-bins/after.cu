// Histogram of edge directions, counted in shared memory
//
// A block counts its pixels in bins of its own and adds the eight sums to the global bins at its
// end: 2,048 times eight additions instead of one for each edge pixel.
//
// /// kernelprof
// kernel = "edge_octants"
// block = [256]
// grid = ["W // 256", "H // 32"]
// reference = "reference:edge_octants"
// min_bytes = "W * H"
//
// [sizes]
// W = 4096
// H = 4096
//
// [check]
// sizes = { W = 512, H = 256 }
//
// [[arguments]]
// name = "image"
// type = "uint8"
// shape = ["H", "W"]
//
// [[arguments]]
// name = "bins"
// type = "uint32"
// shape = [8]
// fill = "zeros"
// output = true
//
// [[arguments]]
// name = "width"
// type = "int32"
// value = "W"
//
// [[arguments]]
// name = "height"
// type = "int32"
// value = "H"
//
// [[arguments]]
// name = "threshold"
// type = "int32"
// value = 50
//
// [compile]
// flags = ["-O3"]
// standard = "c++17"
// ///

constexpr int rows_per_block = 32;

// Which eighth of the circle a gradient points to: two signs and the steeper axis.
__device__ int octant(int gx, int gy) {
    return (gy < 0 ? 4 : 0) + (gx < 0 ? 2 : 0) + (abs(gx) < abs(gy) ? 1 : 0);
}

extern "C" __global__ void edge_octants(const unsigned char* __restrict__ image, unsigned* bins,
                                        int width, int height, int threshold) {
    __shared__ unsigned counts[8];
    if (threadIdx.x < 8) {
        counts[threadIdx.x] = 0;
    }
    __syncthreads();
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int first = max(static_cast<int>(blockIdx.y) * rows_per_block, 1);
    const int last = min((static_cast<int>(blockIdx.y) + 1) * rows_per_block, height - 1);
    if (x > 0 && x < width - 1) {
        for (int y = first; y < last; ++y) {
            const unsigned char* here = image + static_cast<size_t>(y) * width + x;
            const unsigned char* above = here - width;
            const unsigned char* below = here + width;
            const int left = above[-1] + 2 * here[-1] + below[-1];
            const int right = above[1] + 2 * here[1] + below[1];
            const int top = above[-1] + 2 * above[0] + above[1];
            const int bottom = below[-1] + 2 * below[0] + below[1];
            const int gx = right - left;
            const int gy = bottom - top;
            if (abs(gx) + abs(gy) >= threshold) {
                atomicAdd(&counts[octant(gx, gy)], 1u);
            }
        }
    }
    __syncthreads();
    if (threadIdx.x < 8) {
        atomicAdd(&bins[threadIdx.x], counts[threadIdx.x]);
    }
}
