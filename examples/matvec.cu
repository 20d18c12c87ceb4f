// A matrix times a vector, with a plain flaw: each thread walks along a row of its own, so that the
// 32 threads of a warp read 32 rows at a time. `kernelprof diagnose examples/matvec.cu --predict`
// says so without a GPU.
//
// /// kernelprof
// kernel = "matvec"
// block = [256]
// grid = ["ceil_div(M, 256)"]
// reference = "gemv"
// flops = "2 * M * N"
// min_bytes = "4 * (M * N + M + N)"
//
// [sizes]
// M = 65536
// N = 1024
//
// [check]
// sizes = { M = 300, N = 200 }
// tolerance = 1e-5
//
// [[arguments]]
// name = "A"
// type = "float32"
// shape = ["M", "N"]
//
// [[arguments]]
// name = "x"
// type = "float32"
// shape = ["N"]
//
// [[arguments]]
// name = "y"
// type = "float32"
// shape = ["M"]
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
// ///

extern "C" __global__ void matvec(const float* A, const float* x, float* y, int M, int N) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= M) {
        return;
    }
    float sum = 0.0f;
    for (int k = 0; k < N; ++k) {
        sum += A[row * N + k] * x[k];
    }
    y[row] = sum;
}
