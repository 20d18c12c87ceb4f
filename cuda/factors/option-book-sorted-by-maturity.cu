// /// factors
// title = "Values of a book of options on trees of 16 to 1024 steps, sorted by maturity"
// kind = "both pay"
// expect = "Imbalance multiplies the cost of a step, which has an exponential, a sine and a remainder."
//
// [causes.A]
// bottleneck = "workload-imbalance"
// fix = "Deal warps of contracts to the blocks in turn instead of a range of the book to each."
//
// [causes.B]
// bottleneck = "sfu-throughput"
// fix = "Advance the discount and the season by products instead of an exponential and a sine each step."
//
// [causes.C]
// bottleneck = "integer-throughput"
// fix = "Count the day of the week up and wrap it instead of a 64-bit remainder in each step."
// ///
#include "common.cuh"

constexpr int kContracts = 1 << 18, kWarps = kContracts / 32, kBlocks = 132;

__global__ void __launch_bounds__(1024) k(const float* spots, const float* rates, long long days, float* values) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    constexpr int kChunk = (kWarps + kBlocks - 1) / kBlocks;
    for (int n = warp; n < kChunk; n += 32) {
#ifdef FIX_A
        const int group = n * kBlocks + (n / 32 % 2 ? kBlocks - 1 - int(blockIdx.x) : int(blockIdx.x));
#else
        const int group = blockIdx.x * kChunk + n;
#endif
        if (group >= kWarps) continue;
        const int i = 32 * group + lane;
        const float along = float(group) / kWarps;
        const int steps = 16 + int(1008.0f * along * along * along);
        const float spot = spots[i], rate = rates[i];
        float value = spot;
        long long day = i;
        int weekday = int(day % days);
#ifdef FIX_B
        const float fall = __expf(-rate * 0.002f), dc = cosf(0.2618f), ds = sinf(0.2618f);
        float discount = 1.0f, cosine = 1.0f, sine = 0.0f;
#endif
        for (int s = 0; s < steps; ++s) {
#ifdef FIX_B
            const float growth = spot * discount * (1.0f + 0.1f * sine);
            discount *= fall;
            const float turned = cosine * dc - sine * ds;
            sine = cosine * ds + sine * dc;
            cosine = turned;
#else
            const float growth = spot * __expf(-rate * 0.002f * s) * (1.0f + 0.1f * __sinf(0.2618f * s));
#endif
#ifdef FIX_C
            if (++weekday == int(days)) weekday = 0;
#else
            ++day;
            weekday = int(day % days);
#endif
            value += (growth - 0.01f * value) * (weekday < 5 ? 0.004f : 0.001f);
        }
        values[i] = value;
    }
}

int main() {
    float* spots = uniform<float>(kContracts, 1.0, 9.0, 24);
    float* rates = uniform<float>(kContracts, 0.01, 0.3, 25);
    float* values = zeros<float>(kContracts);
    MEASURE(values, kContracts, k<<<kBlocks, 1024>>>(spots, rates, 7, values));
}
