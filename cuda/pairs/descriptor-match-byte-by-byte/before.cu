// Best match of image descriptors by the sum of byte differences, one byte at a time
//
// Each thread holds two descriptors of 64 bytes and takes every candidate from shared memory. A
// byte is cut out of its word, subtracted, made positive and added: all on the integer pipe.
//
// /// kernelprof
// kernel = "match"
// block = [128]
// grid = ["queries // 256"]
// reference = "reference:match"
//
// [sizes]
// queries = 131072
// candidates = 1024
//
// [check]
// sizes = { queries = 2048, candidates = 256 }
//
// [[arguments]]
// name = "query"
// type = "uint32"
// shape = ["queries", "WORDS"]
// fill = "reference:query"
//
// [[arguments]]
// name = "candidate"
// type = "uint32"
// shape = ["candidates", "WORDS"]
// fill = "reference:candidate"
//
// [[arguments]]
// name = "out"
// type = "uint32"
// shape = ["queries"]
// output = true
//
// [[arguments]]
// name = "candidates"
// type = "int32"
// value = "candidates"
//
// [compile]
// flags = ["-O3"]
// standard = "c++17"
// defines = { WORDS = 16 }
// ///

constexpr int kTile = 128;  // candidates at a time: one for each thread to fetch
constexpr int kEach = 2;    // queries a thread

// Adds the absolute differences of four bytes to a sum.
__device__ __forceinline__ unsigned add_differences(unsigned a, unsigned b, unsigned sum) {
#pragma unroll
    for (int shift = 0; shift < 32; shift += 8) {
        const int difference = static_cast<int>((a >> shift) & 255) - ((b >> shift) & 255);
        sum += abs(difference);
    }
    return sum;
}

// The smallest distance in the upper half of the result, which candidate in the lower.
extern "C" __global__ void __launch_bounds__(kTile)
    match(const unsigned* __restrict__ query, const unsigned* __restrict__ candidate,
          unsigned* __restrict__ out, int candidates) {
    __shared__ uint4 tile[kTile][WORDS / 4];
    const int first = blockIdx.x * kTile * kEach + threadIdx.x;
    uint4 mine[kEach][WORDS / 4];
    unsigned best[kEach];
#pragma unroll
    for (int e = 0; e < kEach; ++e) {
        best[e] = ~0u;
#pragma unroll
        for (int w = 0; w < WORDS / 4; ++w) {
            const uint4* from = reinterpret_cast<const uint4*>(query);
            mine[e][w] = from[static_cast<size_t>(first + e * kTile) * (WORDS / 4) + w];
        }
    }
    for (int start = 0; start < candidates; start += kTile) {
        __syncthreads();
#pragma unroll
        for (int w = 0; w < WORDS / 4; ++w) {
            const uint4* from = reinterpret_cast<const uint4*>(candidate);
            tile[threadIdx.x][w] = from[(start + threadIdx.x) * (WORDS / 4) + w];
        }
        __syncthreads();
        for (int k = 0; k < kTile; ++k) {
            unsigned sum[kEach] = {};
#pragma unroll
            for (int w = 0; w < WORDS / 4; ++w) {
                const uint4 other = tile[k][w];
#pragma unroll
                for (int e = 0; e < kEach; ++e) {
                    sum[e] = add_differences(mine[e][w].x, other.x, sum[e]);
                    sum[e] = add_differences(mine[e][w].y, other.y, sum[e]);
                    sum[e] = add_differences(mine[e][w].z, other.z, sum[e]);
                    sum[e] = add_differences(mine[e][w].w, other.w, sum[e]);
                }
            }
#pragma unroll
            for (int e = 0; e < kEach; ++e) best[e] = min(best[e], sum[e] << 16 | (start + k));
        }
    }
#pragma unroll
    for (int e = 0; e < kEach; ++e) out[first + e * kTile] = best[e];
}
