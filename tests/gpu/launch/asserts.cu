// /// kernelprof
// kernel = "saxpy"
// block = [256]
// grid = ["ceil_div(n, 256)"]
// reference = "saxpy"
// flops = "2 * n"
// min_bytes = "12 * n"
//
// [sizes]
// n = 4194304
//
// [check]
// sizes = { n = 1000 }
//
// [[arguments]]
// name = "x"
// type = "float32"
// shape = ["n"]
//
// [[arguments]]
// name = "y"
// type = "float32"
// shape = ["n"]
// fill = "random"
// output = true
//
// [[arguments]]
// name = "a"
// type = "float32"
// value = "1.5"
//
// [[arguments]]
// name = "n"
// type = "int32"
// value = "n"
// ///
#include <cassert>
__global__ void saxpy(const float* x, float* y, float a, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    assert(i < 500);
    if (i < n) {
        y[i] += a * x[i];
    }
}
