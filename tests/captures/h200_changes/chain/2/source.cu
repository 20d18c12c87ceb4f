// Arithmetic with one load a thread. With STRIDE 8 each load goes to a sector of its own: eight times
// the sectors in the same time, which is that of the arithmetic.
//
// /// kernelprof
// kernel = "fma_chain"
// block = [256]
// grid = ["n // 256"]
// reference = "references:fma_chain"
// flops = "2 * n * ROUNDS"
//
// [sizes]
// n = 270336
//
// [check]
// sizes = { n = 1024 }
// tolerance = 1e-5
//
// [compile.defines]
// ROUNDS = 131072
// STRIDE = 1
//
// [[arguments]]
// name = "x"
// type = "float32"
// shape = ["n * 8"]
// fill = "random"
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
__global__ void fma_chain(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) {
        return;
    }
    float value = x[i * STRIDE];
    for (int round = 0; round < ROUNDS; ++round) {
        value = fmaf(value, 0.5f, 0.25f);
    }
    y[i] = value;
}
