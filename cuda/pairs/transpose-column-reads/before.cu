// Transpose, each thread reads down a column
//
// Neighbouring threads read addresses N floats apart: a request of a warp touches 32 sectors to
// use 4 bytes of each. The writes are in order.
//
// /// kernelprof
// kernel = "transpose"
// block = [32, 8]
// grid = ["M // 32", "N // 8"]
// reference = "transpose"
// min_bytes = "8 * M * N"
//
// [sizes]
// M = 8192
// N = 8192
//
// [check]
// sizes = { M = 256, N = 512 }
//
// [[arguments]]
// name = "a"
// type = "float32"
// shape = ["M", "N"]
//
// [[arguments]]
// name = "b"
// type = "float32"
// shape = ["N", "M"]
// output = true
//
// [[arguments]]
// name = "M"
// type = "int32"
// value = "M"
//
// [[arguments]]
// name = "N"
// type = "int32"
// value = "N"
//
// [compile]
// flags = ["-O3"]
// ///

extern "C" __global__ void transpose(const float* __restrict__ a, float* __restrict__ b, int M,
                                     int N) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    const int column = blockIdx.y * blockDim.y + threadIdx.y;
    b[static_cast<size_t>(column) * M + row] = a[static_cast<size_t>(row) * N + column];
}
