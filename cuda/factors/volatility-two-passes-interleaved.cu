// /// factors
// title = "Mean and volatility of the prices of 262144 instruments over 256 days"
// kind = "both pay"
// expect = "Both fixes halve the bytes from DRAM."
// tolerance = 2e-3
//
// [causes.A]
// bottleneck = "dram-bandwidth"
// fix = "Sum the prices and their squares, shifted by the first price, in one pass instead of two."
//
// [causes.B]
// bottleneck = "uncoalesced-global-access"
// fix = "Read prices from an array of their own instead of pairs of price and volume."
// ///
#include "common.cuh"

constexpr int kInstruments = 1 << 18, kDays = 256;

#ifdef FIX_B
constexpr int kStride = 1;
#else
constexpr int kStride = 2;
#endif

__global__ void __launch_bounds__(256) k(const float* quotes, float* volatility) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float* price = quotes + size_t(i) * kStride;
    constexpr size_t kDay = size_t(kInstruments) * kStride;
#ifdef FIX_A
    const float shift = price[0];
    float sum = 0.0f, squares = 0.0f;
#pragma unroll 8
    for (int d = 0; d < kDays; ++d) {
        const float x = price[d * kDay] - shift;
        sum += x;
        squares += x * x;
    }
    const float variance = (squares - sum * sum / kDays) / (kDays - 1);
#else
    float sum = 0.0f;
#pragma unroll 8
    for (int d = 0; d < kDays; ++d) sum += price[d * kDay];
    const float mean = sum / kDays;
    float variance = 0.0f;
#pragma unroll 8
    for (int d = 0; d < kDays; ++d) {
        const float x = price[d * kDay] - mean;
        variance += x * x;
    }
    variance /= kDays - 1;
#endif
    volatility[i] = sqrtf(variance);
}

int main() {
    const size_t n = size_t(kInstruments) * kDays;
    float* prices = uniform<float>(n, 90.0, 110.0, 5);
#ifndef FIX_B
    std::vector<float> host = download(prices, n), pairs(2 * n);
    for (size_t i = 0; i < n; ++i) {
        pairs[2 * i] = host[i];
        pairs[2 * i + 1] = float(i & 4095);
    }
    prices = upload(pairs);
#endif
    float* volatility = zeros<float>(kInstruments);
    MEASURE(volatility, kInstruments, k<<<kInstruments / 256, 256>>>(prices, volatility));
}
