// /// factors
// title = "Soil moisture of a day from fields kept in double"
// kind = "single"
// blind = true
// expect = "Fields in double fill DRAM; the remainder by a run-time number of zones and the branch for frozen soil hide behind it."
//
// [causes.A]
// bottleneck = "dram-bandwidth"
// fix = "Keep the fields in float, as the day's result is."
// ///
#include "common.cuh"

constexpr int kPlots = 1 << 25;
#ifdef FIX_A
using Stored = float;
#else
using Stored = double;
#endif

__global__ void __launch_bounds__(256) k(const Stored* moisture, const Stored* rain, const Stored* warmth,
                                         unsigned zones, float* result) {
    const unsigned i = blockIdx.x * 256 + threadIdx.x;
    const float m = static_cast<float>(moisture[i]), r = static_cast<float>(rain[i]);
    const float w = static_cast<float>(warmth[i]);
    const float drain = 0.01f + 0.001f * float(i % zones);
    float next;
    if (w > 0.5f) {
        next = m + r - drain * m * (1.0f + w);
        next -= 0.02f * next * next;
    } else {
        next = m * (1.0f - 0.1f * drain);
        next += 0.05f * r * (1.0f - next);
    }
    result[i] = next;
}

int main() {
    Stored* moisture = uniform<Stored>(kPlots, 0.1, 0.6, 291);
    Stored* rain = uniform<Stored>(kPlots, 0.0, 0.2, 292);
    Stored* warmth = uniform<Stored>(kPlots, 0.0, 1.0, 293);
    float* result = zeros<float>(kPlots);
    MEASURE(result, kPlots, k<<<kPlots / 256, 256>>>(moisture, rain, warmth, 23, result));
}
