// Correlations along chains of pages, in blocks of 256 threads
//
// Blocks of eight warps fill the registers of an SM to the last block.
//
// /// kernelprof
// kernel = "correlate"
// block = [256]
// grid = ["chains // 8"]
// reference = "reference:correlate"
//
// [sizes]
// chains = 50688
// page_count = 1048576
// steps = 64
//
// [check]
// sizes = { chains = 240, page_count = 4096, steps = 40 }
//
// [[arguments]]
// name = "starts"
// type = "int32"
// shape = ["chains"]
// fill = "reference:starts"
//
// [[arguments]]
// name = "next"
// type = "int32"
// shape = ["page_count"]
// fill = "reference:next_pages"
//
// [[arguments]]
// name = "pages"
// type = "float32"
// shape = ["page_count", 32]
//
// [[arguments]]
// name = "products"
// type = "float32"
// shape = ["chains", 20, 32]
// output = true
//
// [[arguments]]
// name = "steps"
// type = "int32"
// value = "steps"
//
// [compile]
// flags = ["-O3"]
// standard = "c++17"
// ///

constexpr int LAGS = 20;
constexpr int WARPS = 8;  // of a block

extern "C" __global__ void __launch_bounds__(WARPS * 32)
    correlate(const int* __restrict__ starts, const int* __restrict__ next,
              const float* __restrict__ pages, float* __restrict__ products, int steps) {
    // A warp follows a chain of pages; each lane correlates one of 32 signals with itself.
    const int lane = threadIdx.x % 32;
    const int chain = blockIdx.x * WARPS + threadIdx.x / 32;
    float past[LAGS] = {};
    float sum[LAGS] = {};
    int page = starts[chain];
#pragma unroll 1
    for (int step = 0; step < steps; ++step) {
        const float now = pages[page * 32 + lane];
        page = next[page];
#pragma unroll
        for (int lag = 0; lag < LAGS; ++lag) sum[lag] = fmaf(now, past[lag], sum[lag]);
#pragma unroll
        for (int lag = LAGS - 1; lag > 0; --lag) past[lag] = past[lag - 1];
        past[0] = now;
    }
#pragma unroll
    for (int lag = 0; lag < LAGS; ++lag) products[(chain * LAGS + lag) * 32 + lane] = sum[lag];
}
