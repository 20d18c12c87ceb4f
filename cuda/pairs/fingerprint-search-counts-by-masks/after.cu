// Most similar of many molecular fingerprints, bits counted by the instruction for it
//
// Each thread holds one fingerprint of 512 bits and takes every candidate from shared memory. The
// bits in common are counted by POPC, one instruction a word on another pipe.
//
// /// kernelprof
// kernel = "search"
// block = [256]
// grid = ["queries // 256"]
// reference = "reference:search"
//
// [sizes]
// queries = 131072
// candidates = 512
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

constexpr int kTile = 256;  // candidates at a time: one for each thread to fetch

__device__ __forceinline__ unsigned count(unsigned v) {
    return __popc(v);
}

// Which candidate has the largest share of bits in common; the first of several.
extern "C" __global__ void __launch_bounds__(kTile)
    search(const unsigned* __restrict__ query, const unsigned* __restrict__ candidate,
           unsigned* __restrict__ out, int candidates) {
    __shared__ uint4 tile[kTile][WORDS / 4];
    __shared__ unsigned tile_bits[kTile];
    const int i = blockIdx.x * kTile + threadIdx.x;
    const uint4* from = reinterpret_cast<const uint4*>(query) + static_cast<size_t>(i) * WORDS / 4;
    uint4 mine[WORDS / 4];
    unsigned bits = 0;
#pragma unroll
    for (int w = 0; w < WORDS / 4; ++w) {
        mine[w] = from[w];
        bits += count(mine[w].x) + count(mine[w].y) + count(mine[w].z) + count(mine[w].w);
    }

    unsigned best = 0;
    unsigned best_common = 0;
    unsigned best_either = 1;
    for (int start = 0; start < candidates; start += kTile) {
        __syncthreads();
        from = reinterpret_cast<const uint4*>(candidate) + (start + threadIdx.x) * WORDS / 4;
        unsigned theirs = 0;
#pragma unroll
        for (int w = 0; w < WORDS / 4; ++w) {
            const uint4 four = from[w];
            tile[threadIdx.x][w] = four;
            theirs += count(four.x) + count(four.y) + count(four.z) + count(four.w);
        }
        tile_bits[threadIdx.x] = theirs;
        __syncthreads();
        for (int k = 0; k < kTile; ++k) {
            unsigned common = 0;
#pragma unroll
            for (int w = 0; w < WORDS / 4; ++w) {
                const uint4 other = tile[k][w];
                common += count(mine[w].x & other.x) + count(mine[w].y & other.y);
                common += count(mine[w].z & other.z) + count(mine[w].w & other.w);
            }
            const unsigned either = bits + tile_bits[k] - common;
            if (common * best_either > best_common * either) {
                best = start + k;
                best_common = common;
                best_either = either;
            }
        }
    }
    out[i] = best;
}
