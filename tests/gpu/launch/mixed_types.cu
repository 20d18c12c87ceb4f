// /// kernelprof
// kernel = "mixed<3>"
// block = [64, 2]
// grid = ["ceil_div(n, 128)"]
// reference = "mixed_types:mixed"
//
// [sizes]
// n = 1048576
//
// [check]
// sizes = { n = 1000 }
// tolerance = 5e-3
//
// [compile]
// standard = "c++17"
//
// [[arguments]]
// name = "flag"
// type = "bool"
// value = 1
//
// [[arguments]]
// name = "h"
// type = "float16"
// shape = ["n"]
//
// [[arguments]]
// name = "scale"
// type = "float16"
// value = "0.5"
//
// [[arguments]]
// name = "b"
// type = "bfloat16"
// shape = ["n"]
//
// [[arguments]]
// name = "shift"
// type = "bfloat16"
// value = "0.25"
//
// [[arguments]]
// name = "n"
// type = "uint64"
// value = "n"
//
// [[arguments]]
// name = "count"
// type = "int32"
// shape = ["16"]
// fill = "zeros"
// output = true
//
// [[arguments]]
// name = "out"
// type = "float64"
// shape = ["n"]
// output = true
//
// [[arguments]]
// name = "small"
// type = "int8"
// value = "-7"
// ///
#include <cuda_bf16.h>
#include <cuda_fp16.h>

template <int K>
__global__ void mixed(bool flag, const __half* h, __half scale, const __nv_bfloat16* b,
                      __nv_bfloat16 shift, unsigned long long n, int* count, double* out,
                      signed char small) {
    const unsigned long long i =
        (blockIdx.x * 2ull + threadIdx.y) * blockDim.x + threadIdx.x;
    if (i >= n) {
        return;
    }
    atomicAdd(&count[i % 16], 1);
    const double value = K * (__half2float(h[i]) * __half2float(scale)) +
                         __bfloat162float(b[i]) + __bfloat162float(shift) + small;
    out[i] = flag ? value : 0.0;
}
