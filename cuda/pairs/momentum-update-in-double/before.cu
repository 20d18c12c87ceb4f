// Momentum update of a fluid solver, double precision
//
// Two streams are read and one is written, each once and in order, two doubles a thread at a time:
// nothing but device memory has much to do.
//
// /// kernelprof
// kernel = "update_momentum"
// block = [256]
// grid = ["N // 512"]
// reference = "reference:momentum"
// flops = "2 * N"
// min_bytes = "24 * N"
//
// [sizes]
// N = 12582912
//
// [check]
// sizes = { N = 65536 }
//
// [[arguments]]
// name = "momentum"
// type = "float64"
// shape = ["N"]
//
// [[arguments]]
// name = "force"
// type = "float64"
// shape = ["N"]
//
// [[arguments]]
// name = "updated"
// type = "float64"
// shape = ["N"]
// output = true
//
// [[arguments]]
// name = "dt"
// type = "float64"
// value = 0.125
//
// [compile]
// standard = "c++17"
// flags = ["-O3"]
// ///

extern "C" __global__ void update_momentum(const double2* __restrict__ momentum,
                                           const double2* __restrict__ force,
                                           double2* __restrict__ updated, double dt) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const double2 p = momentum[i];
    const double2 f = force[i];
    updated[i] = make_double2(fma(dt, f.x, p.x), fma(dt, f.y, p.y));
}
