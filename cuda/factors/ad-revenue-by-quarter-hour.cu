// /// factors
// title = "Revenue of advertisements by quarter of an hour and format"
// kind = "both pay"
// blind = true
// expect = "All rows add to 1536 words in L2 (B pays most, 2x or more); then the 64-bit division of the time and the prices, read from constant memory at another address by each lane, are the limits, each of two to four times the time of DRAM."
//
// [causes.A]
// bottleneck = "integer-throughput"
// fix = "Take the time since the first midnight in 32 bits and multiply by a reciprocal."
//
// [causes.B]
// bottleneck = "atomic-contention"
// fix = "Add in the shared memory of the block and add its 1536 sums to the totals at the end."
//
// [causes.C]
// bottleneck = "constant-cache"
// fix = "Copy the prices to shared memory, where lanes may read different words."
// ///
#include "common.cuh"

using Time = unsigned long long;

constexpr int kRows = 1 << 24, kThreads = 1024, kBlocks = 264;
constexpr int kSlots = 96, kFormats = 16, kSums = kSlots * kFormats, kZones = 256, kDevices = 64;

__constant__ float c_prices[kZones + kDevices];

struct Clock {
    Time midnight, day, quarter;
    unsigned inverse, shift;
};

__device__ __forceinline__ unsigned slot_of(Time stamp, const Clock& clock) {
#ifdef FIX_A
    // Exact for times of less than 2^28 ms.
    const unsigned passed = static_cast<unsigned>(stamp - clock.midnight);
    return (__umulhi(passed, clock.inverse) >> clock.shift) % kSlots;
#else
    return static_cast<unsigned>(stamp % clock.day / clock.quarter);
#endif
}

__global__ void __launch_bounds__(kThreads, 2) k(const Time* stamps, const unsigned* infos, Clock clock,
                                                 unsigned* revenue) {
#ifdef FIX_C
    __shared__ float prices[kZones + kDevices];
    if (threadIdx.x < kZones + kDevices) prices[threadIdx.x] = c_prices[threadIdx.x];
#else
    const float* prices = c_prices;
#endif
#ifdef FIX_B
    __shared__ unsigned sums[kSums];
    for (int i = threadIdx.x; i < kSums; i += kThreads) sums[i] = 0;
#else
    unsigned* sums = revenue;
#endif
    __syncthreads();
    for (int i = blockIdx.x * kThreads + threadIdx.x; i < kRows; i += kBlocks * kThreads) {
        const unsigned info = infos[i];
        const float price = prices[info & 255] * prices[kZones + (info >> 8 & 63)];
        const unsigned sum = slot_of(stamps[i], clock) * kFormats + (info >> 16 & 15);
        atomicAdd(&sums[sum], static_cast<unsigned>(price));
    }
#ifdef FIX_B
    __syncthreads();
    for (int i = threadIdx.x; i < kSums; i += kThreads) atomicAdd(&revenue[i], sums[i]);
#endif
}

int main() {
    const Clock clock = {1700006400000ull, 86400000ull, 900000ull, unsigned((1ull << 51) / 900000 + 1), 19};
    std::vector<Time> stamps(kRows);
    std::vector<unsigned> infos(kRows);
    for (int i = 0; i < kRows; ++i) {
        stamps[i] = clock.midnight + Time(3 * 86400000.0 * unit(i, 1041));
        infos[i] = hash32(i + 1042);
    }
    std::vector<float> prices(kZones + kDevices);
    for (int i = 0; i < kZones + kDevices; ++i) prices[i] = unit(i, 1043) * (i < kZones ? 100.0 : 2.0);
    CHECK(cudaMemcpyToSymbol(c_prices, prices.data(), prices.size() * sizeof(float)));
    Time* times = upload(stamps);
    unsigned* codes = upload(infos);
    unsigned* revenue = zeros<unsigned>(kSums);
    MEASURE(revenue, kSums, k<<<kBlocks, kThreads>>>(times, codes, clock, revenue));
}
