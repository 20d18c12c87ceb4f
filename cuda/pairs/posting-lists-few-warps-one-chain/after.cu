// Scores of linked posting lists, blocks of 16 warps
//
// Four times the warps share the table, so that four times the links are under way. Each warp still
// follows one list.
//
// /// kernelprof
// kernel = "score_lists"
// block = [512]
// grid = [264]
// reference = "reference:score_lists"
// min_bytes = "128 * lists * hops"
//
// [sizes]
// lists = 8448
// hops = 124
// codes = 24576
//
// [check]
// sizes = { lists = 4224, hops = 7 }
// tolerance = 1e-4
//
// [[arguments]]
// name = "links"
// type = "int32"
// shape = ["lists * hops", 32]
// fill = "reference:links"
//
// [[arguments]]
// name = "heads"
// type = "int32"
// shape = ["lists"]
// fill = "reference:heads"
//
// [[arguments]]
// name = "scores"
// type = "float32"
// shape = ["codes"]
//
// [[arguments]]
// name = "totals"
// type = "float32"
// shape = ["lists"]
// output = true
//
// [[arguments]]
// name = "codes"
// type = "int32"
// value = "codes"
//
// [[arguments]]
// name = "lists"
// type = "int32"
// value = "lists"
//
// [[arguments]]
// name = "hops"
// type = "int32"
// value = "hops"
//
// [compile]
// standard = "c++17"
// flags = ["-O3"]
// defines = { CHAINS = 1 }
//
// [launch]
// shared_bytes = "4 * codes"
// ///

constexpr int LINK = 32;  // words of a link: the number of the next one and 31 codes

// A list is a chain of links. A warp follows CHAINS lists side by side.
extern "C" __global__ void score_lists(const int* __restrict__ links,
                                       const int* __restrict__ heads,
                                       const float* __restrict__ scores,
                                       float* __restrict__ totals, int codes, int lists,
                                       int hops) {
    extern __shared__ float score[];
#pragma unroll 8
    for (int k = threadIdx.x; k < codes; k += blockDim.x) score[k] = scores[k];
    __syncthreads();
    const int lane = threadIdx.x % 32;
    const int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    const int warps = gridDim.x * blockDim.x / 32;
    for (int first = warp * CHAINS; first < lists; first += warps * CHAINS) {
        int link[CHAINS];
        float sum[CHAINS];
#pragma unroll
        for (int c = 0; c < CHAINS; ++c) {
            link[c] = heads[first + c];
            sum[c] = 0.0f;
        }
#pragma unroll 1
        for (int hop = 0; hop < hops; ++hop) {
            int word[CHAINS];
#pragma unroll
            for (int c = 0; c < CHAINS; ++c) word[c] = links[link[c] * LINK + lane];
#pragma unroll
            for (int c = 0; c < CHAINS; ++c) {
                link[c] = __shfl_sync(~0u, word[c], 0);
                if (lane > 0) sum[c] += score[word[c]];
            }
        }
#pragma unroll
        for (int c = 0; c < CHAINS; ++c) {
#pragma unroll
            for (int other = 16; other > 0; other /= 2) {
                sum[c] += __shfl_xor_sync(~0u, sum[c], other);
            }
            if (lane == 0) totals[first + c] = sum[c];
        }
    }
}
