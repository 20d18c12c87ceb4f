// A series of Legendre polynomials at latitudes north and south, each by its own recurrence
//
// Each thread has the two points x and -x. The recurrence and the sum are done for both in FP64,
// eight operations a degree.
//
// /// kernelprof
// kernel = "legendre_sum"
// block = [256]
// grid = ["points // 256"]
// reference = "reference:legendre_sum"
//
// [sizes]
// points = 1048576
// degrees = 256
//
// [check]
// sizes = { points = 4096 }
// tolerance = 1e-10
//
// [[arguments]]
// name = "x"
// type = "float64"
// shape = ["points"]
//
// [[arguments]]
// name = "coefficients"
// type = "float64"
// shape = ["degrees"]
//
// [[arguments]]
// name = "out"
// type = "float64"
// shape = ["2", "points"]
// output = true
//
// [[arguments]]
// name = "points"
// type = "int32"
// value = "points"
//
// [compile]
// flags = ["-O3"]
// standard = "c++17"
// defines = { DEGREES = 256 }
// ///

// (l + 1) P(l + 1) = (2 l + 1) x P(l) - l P(l - 1), with the factors over l + 1.
__device__ __forceinline__ double next(double2 factor, double x, double now, double before) {
    return factor.x * (x * now) - factor.y * before;
}

extern "C" __global__ void legendre_sum(const double* __restrict__ x,
                                        const double* __restrict__ coefficients,
                                        double* __restrict__ out, int points) {
    __shared__ double coefficient[DEGREES];
    __shared__ double2 factor[DEGREES];
    for (int l = threadIdx.x; l < DEGREES; l += blockDim.x) {
        coefficient[l] = coefficients[l];
        factor[l] = make_double2((2.0 * l + 1.0) / (l + 1.0), l / (l + 1.0));
    }
    __syncthreads();

    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const double at = x[i];
    double north[2] = {1.0, at};
    double south[2] = {1.0, -at};
    double sum_north = coefficient[0] + coefficient[1] * at;
    double sum_south = coefficient[0] - coefficient[1] * at;
#pragma unroll 4
    for (int l = 1; l < DEGREES - 1; l += 2) {
        north[0] = next(factor[l], at, north[1], north[0]);
        south[0] = next(factor[l], -at, south[1], south[0]);
        sum_north += coefficient[l + 1] * north[0];
        sum_south += coefficient[l + 1] * south[0];
        north[1] = next(factor[l + 1], at, north[0], north[1]);
        south[1] = next(factor[l + 1], -at, south[0], south[1]);
        sum_north += coefficient[l + 2] * north[1];
        sum_south += coefficient[l + 2] * south[1];
    }
    out[i] = sum_north;
    out[points + i] = sum_south;
}
