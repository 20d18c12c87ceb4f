// Coalesced
//
// Changes: threadIdx.x runs along the columns, nothing else.
// Before: uncoalesced-global-access: 16.5 sectors a request and 85 % of them waste, L1 96 % busy
// moving them, device memory below 1 %.
// Sizes: Any M, N and K.
//
// /// kernelprof
// kernel = "sgemm_coalesced"
// block = ["BLOCK", "BLOCK"]
// grid = ["ceil_div(N, BLOCK)", "ceil_div(M, BLOCK)"]
// reference = "gemm"
// flops = "2 * M * N * K"
// min_bytes = "4 * (M * K + K * N + M * N)"
//
// [sizes]
// M = 4096
// N = 4096
// K = 4096
//
// [check]
// sizes = { M = 250, N = 390, K = 130 }
// tolerance = 1e-5
//
// [[arguments]]
// name = "A"
// type = "float32"
// shape = ["M", "K"]
// fill = "random"
//
// [[arguments]]
// name = "B"
// type = "float32"
// shape = ["K", "N"]
// fill = "random"
//
// [[arguments]]
// name = "C"
// type = "float32"
// shape = ["M", "N"]
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
// [[arguments]]
// name = "K"
// type = "int32"
// value = "K"
//
// [compile]
// flags = ["-O3"]
// defines = { BLOCK = 32 }
//
// [launch]
// shared_bytes = "0"
// warmup = 5
// measured = 20
// ///

extern "C" __global__ void sgemm_coalesced(const float* __restrict__ A, const float* __restrict__ B,
                                           float* __restrict__ C, int M, int N, int K) {
    const int row = blockIdx.y * BLOCK + threadIdx.y;
    const int col = blockIdx.x * BLOCK + threadIdx.x;
    if (row >= M || col >= N) {
        return;
    }
    float sum = 0.0f;
    for (int k = 0; k < K; ++k) {
        sum += A[row * K + k] * B[k * N + col];
    }
    C[row * N + col] = sum;
}
