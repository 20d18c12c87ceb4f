// Density of sea water from a fitted polynomial, every power multiplied out
//
// A polynomial of sixth degree in temperature, salinity and pressure has 84 terms. Each is its
// coefficient times its variables one after the other: 378 multiplications and multiply-adds a
// sample, and nothing of one term serves another.
//
// /// kernelprof
// kernel = "density"
// block = [256]
// grid = ["samples // (256 * 2)"]
// reference = "reference:density"
// min_bytes = "16 * samples"
//
// [sizes]
// samples = 8388608
// terms = 84
//
// [check]
// sizes = { samples = 65536 }
//
// [[arguments]]
// name = "coefficients"
// type = "float32"
// shape = ["terms"]
//
// [[arguments]]
// name = "temperature"
// type = "float32"
// shape = ["samples"]
//
// [[arguments]]
// name = "salinity"
// type = "float32"
// shape = ["samples"]
//
// [[arguments]]
// name = "pressure"
// type = "float32"
// shape = ["samples"]
//
// [[arguments]]
// name = "out"
// type = "float32"
// shape = ["samples"]
// output = true
//
// [compile]
// flags = ["-O3"]
// standard = "c++17"
// defines = { DEGREE = 6, TERMS = 84 }
// ///

constexpr int kEach = 2;  // samples a thread

extern "C" __global__ void density(const float* __restrict__ coefficients,
                                   const float* __restrict__ temperature,
                                   const float* __restrict__ salinity,
                                   const float* __restrict__ pressure, float* __restrict__ out) {
    __shared__ __align__(16) float c[TERMS];
    if (threadIdx.x < TERMS) c[threadIdx.x] = coefficients[threadIdx.x];
    __syncthreads();

    const int pair = blockIdx.x * blockDim.x + threadIdx.x;
    const float2 t2 = reinterpret_cast<const float2*>(temperature)[pair];
    const float2 s2 = reinterpret_cast<const float2*>(salinity)[pair];
    const float2 p2 = reinterpret_cast<const float2*>(pressure)[pair];
    const float t[kEach] = {t2.x, t2.y};
    const float s[kEach] = {s2.x, s2.y};
    const float p[kEach] = {p2.x, p2.y};
    float rho[kEach];

    // c[n] belongs to t^i s^j p^k; the last exponent counts fastest.
#pragma unroll
    for (int e = 0; e < kEach; ++e) rho[e] = 0.0f;
    int n = 0;
#pragma unroll
    for (int i = 0; i <= DEGREE; ++i) {
#pragma unroll
        for (int j = 0; i + j <= DEGREE; ++j) {
#pragma unroll
            for (int k = 0; i + j + k <= DEGREE; ++k, ++n) {
#pragma unroll
                for (int e = 0; e < kEach; ++e) {
                    float term = c[n];
#pragma unroll
                    for (int power = 0; power < i; ++power) term *= t[e];
#pragma unroll
                    for (int power = 0; power < j; ++power) term *= s[e];
#pragma unroll
                    for (int power = 0; power < k; ++power) term *= p[e];
                    rho[e] += term;
                }
            }
        }
    }
    reinterpret_cast<float2*>(out)[pair] = make_float2(rho[0], rho[1]);
}
