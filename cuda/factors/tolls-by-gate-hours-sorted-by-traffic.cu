// /// factors
// title = "Tolls taken at 64 gates, summed over hours sorted by traffic"
// kind = "both pay"
// blind = true
// expect = "The last block has four times the mean of crossings, and each crossing queues for the main gate's counter in shared memory."
//
// [causes.A]
// bottleneck = "workload-imbalance"
// fix = "Deal the hours to the blocks in turn instead of a range of hours to each."
//
// [causes.B]
// bottleneck = "atomic-contention"
// fix = "Keep a counter of each gate for each lane, and add them up at the end."
// ///
#include "common.cuh"

constexpr int kGates = 64, kBlocks = 132, kHoursEach = 32, kHours = kBlocks * kHoursEach, kThreads = 1024;
#ifdef FIX_B
constexpr int kCopies = 32;
#else
constexpr int kCopies = 1;
#endif

__global__ void __launch_bounds__(kThreads) k(const unsigned* crossings, const unsigned* starts, unsigned* totals) {
    __shared__ unsigned counters[kGates * kCopies];
    for (int i = threadIdx.x; i < kGates * kCopies; i += kThreads) counters[i] = 0;
    __syncthreads();
    for (int n = 0; n < kHoursEach; ++n) {
#ifdef FIX_A
        const int hour = n * kBlocks + (n % 2 ? kBlocks - 1 - int(blockIdx.x) : int(blockIdx.x));
#else
        const int hour = blockIdx.x * kHoursEach + n;
#endif
        const unsigned end = starts[hour + 1];
#pragma unroll 4
        for (unsigned i = starts[hour] + threadIdx.x; i < end; i += kThreads) {
            const unsigned crossing = crossings[i];
            const unsigned gate = crossing % 1024 < 870 ? 0 : crossing % kGates;
            const unsigned toll = 1 + (crossing >> 16) % 32;
            atomicAdd(&counters[gate * kCopies + threadIdx.x % kCopies], toll);
        }
    }
    __syncthreads();
    if (threadIdx.x < kGates) {
        unsigned sum = 0;
        for (int n = 0; n < kCopies; ++n) sum += counters[threadIdx.x * kCopies + (n + threadIdx.x) % kCopies];
        atomicAdd(&totals[threadIdx.x], sum);
    }
}

int main() {
    std::vector<unsigned> starts(1, 0);
    for (int hour = 0; hour < kHours; ++hour) {
        const double along = double(hour) / kHours;
        starts.push_back(starts.back() + kThreads * unsigned(2 + 62 * along * along * along));
    }
    unsigned* crossings = uniform<unsigned>(starts.back(), 0.0, 4294967295.0, 231);
    unsigned* firsts = upload(starts);
    unsigned* totals = zeros<unsigned>(kGates);
    MEASURE(totals, kGates, k<<<kBlocks, kThreads>>>(crossings, firsts, totals));
}
