// /// factors
// title = "Features of seismic traces: bins of amplitude, then differences of neighbours"
// kind = "both pay"
// expect = "Strided loads, a local array and conflicting shared accesses share the L1 data stage."
//
// [causes.A]
// bottleneck = "uncoalesced-global-access"
// fix = "Store the samples of all traces by time, and not trace by trace."
//
// [causes.B]
// bottleneck = "local-memory-traffic"
// fix = "Pack the 16 counters into the bytes of two 64-bit registers instead of an array."
//
// [causes.C]
// bottleneck = "shared-bank-conflicts"
// fix = "Pad the 16 features of a trace to 17 in shared memory."
// ///
#include "common.cuh"

constexpr int kTraces = 1 << 20, kSamples = 48, kThreads = 256, kFeatures = 16;
#ifdef FIX_C
constexpr int kPitch = kFeatures + 1;
#else
constexpr int kPitch = kFeatures;
#endif

__global__ void __launch_bounds__(kThreads) k(const float* traces, float* features) {
    __shared__ float tile[kThreads * kPitch];
    const int t = threadIdx.x, trace = blockIdx.x * kThreads + t;
    float moment = 0.0f;
#ifdef FIX_B
    unsigned long long low = 0, high = 0;
#else
    int counts[kFeatures];
    for (int f = 0; f < kFeatures; ++f) counts[f] = 0;
#endif
#pragma unroll 4
    for (int s = 0; s < kSamples; ++s) {
#ifdef FIX_A
        const float x = traces[size_t(s) * kTraces + trace];
#else
        const float x = traces[size_t(trace) * kSamples + s];
#endif
        const int bin = int(x) & (kFeatures - 1);
#ifdef FIX_B
        const unsigned long long one = 1ull << (bin % 8 * 8);
        low += bin < 8 ? one : 0;
        high += bin < 8 ? 0 : one;
#else
        counts[bin] += 1;
#endif
        moment += x * (0.25f * x - 0.5f);
    }
#pragma unroll
    for (int f = 0; f < kFeatures; ++f) {
#ifdef FIX_B
        tile[t * kPitch + f] = float((f < 8 ? low : high) >> (f % 8 * 8) & 255);
#else
        tile[t * kPitch + f] = float(counts[f]);
#endif
    }
    __syncthreads();
    float contrast = 0.0f;
    for (int d = 1; d <= 8; ++d) {
        const float* other = tile + (t + d * 3) % kThreads * kPitch;
#pragma unroll
        for (int f = 0; f < kFeatures; f += 5) contrast += fabsf(tile[t * kPitch + f] - other[f]);
    }
    features[trace] = contrast + moment;
}

int main() {
    const size_t n = size_t(kTraces) * kSamples;
    float* traces = uniform<float>(n, 0.0, 16.0, 20);
#ifdef FIX_A
    const std::vector<float> host = download(traces, n);
    std::vector<float> times(n);
    for (size_t i = 0; i < n; ++i) times[i % kSamples * kTraces + i / kSamples] = host[i];
    traces = upload(times);
#endif
    float* features = zeros<float>(kTraces);
    MEASURE(features, kTraces, k<<<kTraces / kThreads, kThreads>>>(traces, features));
}
