// /// kernelprof
// kernel = "scaled"
// block = [256]
// grid = ["ceil_div(n, 256)"]
// reference = "scale"
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
__global__ void scaled(const float* x, float* y, float a, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = y[i] == 0 ? a * x[i] : 0;  // right only where memory happens to hold zeros
    }
}
