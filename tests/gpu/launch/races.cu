// /// kernelprof
// kernel = "turn"
// block = [256]
// grid = ["n // 256"]
// reference = "copy"
//
// [sizes]
// n = 4194304
//
// [check]
// sizes = { n = 1024 }
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
// ///
// A value goes round through another warp's place in shared memory; the barrier is missing.
__global__ void turn(const float* x, float* y) {
    __shared__ float tile[256];
    const int i = blockIdx.x * 256 + threadIdx.x;
    tile[threadIdx.x] = x[i];
    const float other = tile[threadIdx.x ^ 32];
    y[i] = other == 7.0f ? other : x[i];
}
