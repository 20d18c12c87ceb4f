// /// kernelprof
// kernel = "reverse"
// block = [256]
// grid = ["n // 55296"]
// reference = "more_shared:reverse"
//
// [sizes]
// n = 5529600
//
// [check]
// sizes = { n = 110592 }
//
// [launch]
// shared_bytes = "55296 * 4"
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

// 216 KiB of dynamic and 8 KiB of static shared memory: near the 227 KiB that a block may have.
__global__ void reverse(const float* x, float* y) {
    extern __shared__ float part[];
    __shared__ float first[2048];
    const int begin = blockIdx.x * 55296;
    for (int i = threadIdx.x; i < 55296; i += blockDim.x) {
        (i < 2048 ? first[i] : part[i]) = x[begin + i];
    }
    __syncthreads();
    for (int i = threadIdx.x; i < 55296; i += blockDim.x) {
        const int from = 55295 - i;
        y[begin + i] = from < 2048 ? first[from] : part[from];
    }
}
