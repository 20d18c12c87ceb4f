// /// kernelprof
// kernel = "tma_row"
// block = [128]
// grid = ["ceil_div(N, 256)"]
// reference = "copy"
// min_bytes = "8 * N"
//
// [sizes]
// N = 16777216
//
// [check]
// sizes = { N = 1000 }
//
// [[arguments]]
// name = "map_x"
// tensor_map = { of = "x", box = [256] }
//
// [[arguments]]
// name = "y"
// type = "float32"
// shape = ["N"]
// output = true
//
// [[arguments]]
// name = "n"
// type = "int32"
// value = "N"
//
// [[arguments]]
// name = "x"
// type = "float32"
// shape = ["N"]
// fill = "normal"
// passed = false
// ///
#include "tma.cuh"

// A flat array is copied box by box, by a map of one dimension.
__global__ void __launch_bounds__(128)
    tma_row(const __grid_constant__ CUtensorMap map_x, float* y, int n) {
    __shared__ alignas(128) float box[256];
    __shared__ uint64_t barrier;
    if (threadIdx.x == 0) {
        init_barrier(&barrier);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        expect_bytes(&barrier, sizeof(box));
        load_row(box, map_x, blockIdx.x * 256, &barrier);
    }
    wait_for(&barrier, 0);
    for (int i = threadIdx.x; i < 256; i += blockDim.x) {
        const int to = blockIdx.x * 256 + i;
        if (to < n) {
            y[to] = box[i];
        }
    }
}
