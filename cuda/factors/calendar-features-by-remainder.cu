// /// factors
// title = "Seasonal features of hourly meter readings"
// kind = "alternatives"
// expect = "Short divisions by constants and counters that wrap both end the divisions; then DRAM is the limit."
//
// [causes.A]
// bottleneck = "integer-throughput"
// fix = "Reduce the start once by the common period, and divide 32-bit numbers by constants."
//
// [causes.B]
// bottleneck = "integer-throughput"
// fix = "Count hour, weekday and season up and wrap them instead of dividing the time of each reading."
// ///
#include "common.cuh"

constexpr int kMeters = 1 << 17, kHours = 256;

__global__ void __launch_bounds__(256) k(const float* readings, const float* profile, long long day, long long week,
                                         long long season, float* features) {
    __shared__ float table[24 + 168 + 91];
    for (int i = threadIdx.x; i < 24 + 168 + 91; i += blockDim.x) table[i] = profile[i];
    __syncthreads();
    const int meter = blockIdx.x * blockDim.x + threadIdx.x;
    const long long start = 480000ll + meter % 9973 * 4000000000ll;
    float sum = 0.0f;
#ifdef FIX_B
    int hour = start % 24, weekhour = start % 168, inseason = start % 91;
#elif defined(FIX_A)
    const unsigned begin = start % 2184;
#endif
#pragma unroll 4
    for (int h = 0; h < kHours; ++h) {
#if defined(FIX_B)
        const int a = hour, b = weekhour, c = inseason;
        hour = hour == 23 ? 0 : hour + 1;
        weekhour = weekhour == 167 ? 0 : weekhour + 1;
        inseason = inseason == 90 ? 0 : inseason + 1;
#elif defined(FIX_A)
        const unsigned time = begin + h;
        const int a = time % 24u, b = time % 168u, c = time % 91u;
#else
        const long long time = start + h;
        const int a = time % day, b = time % week, c = time % season;
#endif
        sum += readings[size_t(h) * kMeters + meter] * (table[a] + table[24 + b] * table[192 + c]);
    }
    features[meter] = sum;
}

int main() {
    float* readings = uniform<float>(size_t(kMeters) * kHours, 0.0, 4.0, 60);
    float* profile = uniform<float>(24 + 168 + 91, 0.5, 1.5, 61);
    float* features = zeros<float>(kMeters);
    MEASURE(features, kMeters, k<<<kMeters / 256, 256>>>(readings, profile, 24, 168, 91, features));
}
