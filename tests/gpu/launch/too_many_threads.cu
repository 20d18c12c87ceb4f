// /// kernelprof
// kernel = "saxpy"
// block = [1024]
// grid = ["ceil_div(n, 1024)"]
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
// Keeps 96 values of a thread in registers: more than a thread of a block of 1024 can have.
__global__ void __launch_bounds__(256) saxpy(const float* x, float* y, float a, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float kept[96];
#pragma unroll
    for (int k = 0; k < 96; ++k) {
        kept[k] = x[(i + k) % n];
    }
    float sum = 0.0f;
#pragma unroll 1
    for (int round = 0; round < n; round += n) {
#pragma unroll
        for (int k = 0; k < 96; ++k) {
            sum += kept[k] * kept[95 - k];
        }
    }
    if (i < n) {
        y[i] += a * x[i] + 0.0f * sum;
    }
}
