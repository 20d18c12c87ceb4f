// /// factors
// title = "Discharge of river basins through a delay line of sixteen hours"
// kind = "both pay"
// blind = true
// expect = "66 blocks leave half the SMs empty and few warps on the rest; the ring is indexed at run time, so each hour waits for and queues at local memory."
//
// [causes.A]
// bottleneck = "small-grid"
// fix = "Launch a thread for each basin, 1056 blocks, instead of 66 blocks that walk over the basins."
//
// [causes.B]
// bottleneck = "local-memory-traffic"
// fix = "Unroll the sixteen hours of a turn of the ring, so that its places are registers."
// ///
#include "common.cuh"

constexpr int kBasins = 1056 * 256, kHours = 1024, kRing = 16;

__global__ void __launch_bounds__(256) k(const float* areas, const float* rains, float* discharges) {
    for (int i = blockIdx.x * 256 + threadIdx.x; i < kBasins; i += gridDim.x * 256) {
        const float area = areas[i];
        float rain = rains[i], level = 0.0f;
        float ring[kRing];
#pragma unroll
        for (int n = 0; n < kRing; ++n) ring[n] = 0.1f * n;
#ifdef FIX_B
#pragma unroll 1
        for (int turn = 0; turn < kHours; turn += kRing) {
#pragma unroll
            for (int head = 0; head < kRing; ++head) {
#else
#pragma unroll 1
        for (int turn = 0; turn < kHours; turn += kRing) {
#pragma unroll 1
            for (int head = 0; head < kRing; ++head) {
#endif
                const float routed = 0.35f * ring[head] + 0.25f * ring[(head + 5) % kRing] +
                                     0.15f * ring[(head + 9) % kRing] + 0.1f * ring[(head + 13) % kRing];
                rain = 0.97f * rain + 0.02f;
                level = 0.9f * level + area * routed;
                ring[head] = 0.8f * routed + rain;
            }
        }
        discharges[i] = level;
    }
}

int main() {
    float* areas = uniform<float>(kBasins, 0.1, 1.0, 201);
    float* rains = uniform<float>(kBasins, 0.0, 2.0, 202);
    float* discharges = zeros<float>(kBasins);
#ifdef FIX_A
    const int blocks = 1056;
#else
    const int blocks = 66;
#endif
    MEASURE(discharges, kBasins, k<<<blocks, 256>>>(areas, rains, discharges));
}
