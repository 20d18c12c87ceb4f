// /// factors
// title = "One step of page ranks on a graph with four hubs, a warp a page"
// kind = "one alone does not pay"
// expect = "The kernel lasts as long as the warp of a hub: narrower indices pay only once hubs are divided."
//
// [causes.A]
// bottleneck = "workload-imbalance"
// fix = "Divide the links of a page into segments of at most 512, which add their sums atomically."
//
// [causes.B]
// bottleneck = "dram-bandwidth"
// fix = "Store the pages that link to a page in 32 bits instead of 64."
// ///
#include "common.cuh"

constexpr int kPages = 1 << 17, kHubs = 4, kHubLinks = 150000, kLinks = 200;
#ifdef FIX_B
using Index = int;
#else
using Index = long long;
#endif

struct Segment {
    int page, begin, end;
};

__global__ void __launch_bounds__(256) k(const Segment* segments, int n, const Index* links, const float* ranks,
                                         float* next) {
    const int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (warp >= n) return;
    const Segment segment = segments[warp];
    float sum = 0.0f;
    for (int i = segment.begin + lane; i < segment.end; i += 32) sum += ranks[links[i]];
    for (int s = 16; s > 0; s /= 2) sum += __shfl_xor_sync(~0u, sum, s);
    if (lane == 0) atomicAdd(next + segment.page, 0.85f * sum);
}

// Links lead to pages nearby.
__global__ void fill_links(Index* links, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) links[i] = (i / 256 + hash32(i) % 256) % kPages;
}

int main() {
    std::vector<Segment> segments;
    int total = 0;
    for (int page = 0; page < kPages; ++page) {
        const bool hub = page % (kPages / kHubs) == 77;
        const int end = total + (hub ? kHubLinks : kLinks + int(hash32(page) % 100));
#ifdef FIX_A
        constexpr int kMost = 512;
#else
        constexpr int kMost = 1 << 30;
#endif
        for (; end - total > kMost; total += kMost) segments.push_back({page, total, total + kMost});
        segments.push_back({page, total, end});
        total = end;
    }
    Index* links = zeros<Index>(total);
    fill_links<<<(total + 255) / 256, 256>>>(links, total);
    const float* ranks = uniform<float>(kPages, 0.1, 1.0, 50);
    const Segment* table = upload(segments);
    float* next = zeros<float>(kPages);
    const int n = int(segments.size());
    MEASURE(next, kPages, k<<<(n + 7) / 8, 256>>>(table, n, links, ranks, next));
}
