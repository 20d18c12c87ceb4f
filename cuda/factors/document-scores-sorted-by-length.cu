// /// factors
// title = "Scores of documents of 1 to 1024 terms, which are stored by length"
// kind = "both pay"
// expect = "The block with the longest documents has four times the mean; coalescing speeds up every block."
//
// [causes.A]
// bottleneck = "workload-imbalance"
// fix = "Deal groups of 32 documents to the blocks in turn instead of a contiguous range to each."
//
// [causes.B]
// bottleneck = "uncoalesced-global-access"
// fix = "Let the lanes of a warp share a document instead of one document a lane."
// ///
#include "common.cuh"

constexpr int kDocuments = 1 << 18, kGroups = kDocuments / 32, kBlocks = 132;

__global__ void __launch_bounds__(1024) k(const int* offsets, const float* terms, float* scores) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
#ifdef FIX_A
    for (int group = blockIdx.x + warp * kBlocks; group < kGroups; group += 32 * kBlocks) {
#else
    constexpr int kChunk = (kGroups + kBlocks - 1) / kBlocks;
    const int end = min(kGroups, (int(blockIdx.x) + 1) * kChunk);
    for (int group = blockIdx.x * kChunk + warp; group < end; group += 32) {
#endif
#ifdef FIX_B
        for (int d = 32 * group; d < 32 * group + 32; ++d) {
            float sum = 0.0f;
            for (int i = offsets[d] + lane; i < offsets[d + 1]; i += 32) {
                sum += terms[i] / (terms[i] + 1.2f);
            }
            for (int s = 16; s > 0; s /= 2) sum += __shfl_xor_sync(~0u, sum, s);
            if (lane == 0) scores[d] = sum;
        }
#else
        const int d = 32 * group + lane;
        float sum = 0.0f;
        for (int i = offsets[d]; i < offsets[d + 1]; ++i) {
            sum += terms[i] / (terms[i] + 1.2f);
        }
        scores[d] = sum;
#endif
    }
}

int main() {
    std::vector<int> offsets(kDocuments + 1, 0);
    for (int d = 0; d < kDocuments; ++d) {
        const double part = double(d) / kDocuments;
        offsets[d + 1] = offsets[d] + 1 + int(1023 * part * part * part);
    }
    float* terms = uniform<float>(offsets.back(), 0.0, 8.0, 8);
    float* scores = zeros<float>(kDocuments);
    const int* starts = upload(offsets);
    MEASURE(scores, kDocuments, k<<<kBlocks, 1024>>>(starts, terms, scores));
}
