// /// factors
// title = "Chebyshev series in double, four points a thread"
// kind = "healthy"
// limit = "fp64-throughput"
// expect = "The results are needed in double, and four chains a thread fill the fp64 pipe."
// ///
#include "common.cuh"

constexpr int kPoints = 132 * 256 * 8 * 16, kTerms = 128;

__constant__ double terms[kTerms];

__global__ void __launch_bounds__(256) k(const double* __restrict__ points, double* __restrict__ values) {
    const int first = blockIdx.x * 1024 + threadIdx.x;
    double x[4], now[4], last[4];
#pragma unroll
    for (int n = 0; n < 4; ++n) {
        x[n] = 2.0 * points[first + 256 * n];
        now[n] = last[n] = 0.0;
    }
#pragma unroll 8
    for (int i = kTerms - 1; i > 0; --i) {
#pragma unroll
        for (int n = 0; n < 4; ++n) {
            const double next = x[n] * now[n] + (terms[i] - last[n]);
            last[n] = now[n];
            now[n] = next;
        }
    }
#pragma unroll
    for (int n = 0; n < 4; ++n) values[first + 256 * n] = 0.5 * x[n] * now[n] - last[n] + terms[0];
}

int main() {
    double* points = uniform<double>(kPoints, -1.0, 1.0, 70);
    const double* series = uniform<double>(kTerms, 0.1, 1.0, 71);
    CHECK(cudaMemcpyToSymbol(terms, series, sizeof(terms), 0, cudaMemcpyDeviceToDevice));
    double* values = zeros<double>(kPoints);
    MEASURE(values, kPoints, k<<<kPoints / 1024, 256>>>(points, values));
}
