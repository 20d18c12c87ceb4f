// /// kernelprof
// kernel = "float8"
// block = [128]
// grid = ["ceil_div(n, 128)"]
// reference = "float8:float8"
//
// [sizes]
// n = 1048576
//
// [check]
// sizes = { n = 10000 }
//
// [[arguments]]
// name = "a"
// type = "float8_e4m3"
// shape = ["n"]
// fill = "normal"
//
// [[arguments]]
// name = "b"
// type = "float8_e5m2"
// shape = ["n"]
// fill = "normal"
//
// [[arguments]]
// name = "scale"
// type = "float8_e4m3"
// value = "1.5"
//
// [[arguments]]
// name = "n"
// type = "int32"
// value = "n"
//
// [[arguments]]
// name = "product"
// type = "float32"
// shape = ["n"]
// output = true
//
// [[arguments]]
// name = "sum"
// type = "float8_e4m3"
// shape = ["n"]
// output = true
// ///
#include <cuda_fp8.h>

__global__ void float8(const __nv_fp8_e4m3* a, const __nv_fp8_e5m2* b, __nv_fp8_e4m3 scale, int n,
                       float* product, __nv_fp8_e4m3* sum) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        product[i] = float(a[i]) * float(b[i]) * float(scale);
        sum[i] = __nv_fp8_e4m3(float(a[i]) + float(b[i]));
    }
}
