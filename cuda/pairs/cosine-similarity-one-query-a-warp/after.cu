// Cosine similarity of queries and documents, a warp for a document and four queries
//
// A warp reads its document, 8 KB, once for four queries. These stay in L1, and the 16 MB of
// documents come from L2 for every fourth query only.
//
// /// kernelprof
// kernel = "cosine"
// block = [256]
// grid = ["count // 8", "searches // QUERIES"]
// reference = "reference:cosine"
// flops = "2 * searches * count * length"
// min_bytes = "4 * (searches * length + count * length + searches * count)"
//
// [sizes]
// searches = 512
// count = 2048
// length = 2048
//
// [check]
// sizes = { searches = 32, count = 256, length = 512 }
//
// [[arguments]]
// name = "queries"
// type = "float32"
// shape = ["searches", "length"]
//
// [[arguments]]
// name = "documents"
// type = "float32"
// shape = ["count", "length"]
//
// [[arguments]]
// name = "likeness"
// type = "float32"
// shape = ["searches", "count"]
// output = true
//
// [[arguments]]
// name = "count"
// type = "int32"
// value = "count"
//
// [[arguments]]
// name = "length"
// type = "int32"
// value = "length"
//
// [compile]
// flags = ["-O3"]
// defines = { QUERIES = 4 }
// standard = "c++17"
// ///

extern "C" __global__ void __launch_bounds__(256)
    cosine(const float* __restrict__ queries, const float* __restrict__ documents,
           float* __restrict__ likeness, int count, int length) {
    const int document = blockIdx.x * 8 + threadIdx.x / 32;
    const int first = blockIdx.y * QUERIES;
    const int lane = threadIdx.x % 32;
    const int quads = length / 4;
    const float4* query4 = reinterpret_cast<const float4*>(queries) + first * quads;
    const float4* document4 =
        reinterpret_cast<const float4*>(documents) + static_cast<size_t>(document) * quads;
    float dots[QUERIES] = {};
    float lengths[QUERIES] = {};
    float own = 0.0f;
#pragma unroll 2
    for (int i = lane; i < quads; i += 32) {
        const float4 d = document4[i];
        own += d.x * d.x + d.y * d.y + d.z * d.z + d.w * d.w;
#pragma unroll
        for (int k = 0; k < QUERIES; ++k) {
            const float4 q = query4[k * quads + i];
            dots[k] += q.x * d.x + q.y * d.y + q.z * d.z + q.w * d.w;
            lengths[k] += q.x * q.x + q.y * q.y + q.z * q.z + q.w * q.w;
        }
    }
    for (int apart = 16; apart > 0; apart /= 2) {
        own += __shfl_xor_sync(0xffffffffu, own, apart);
#pragma unroll
        for (int k = 0; k < QUERIES; ++k) {
            dots[k] += __shfl_xor_sync(0xffffffffu, dots[k], apart);
            lengths[k] += __shfl_xor_sync(0xffffffffu, lengths[k], apart);
        }
    }
    if (lane == 0) {
#pragma unroll
        for (int k = 0; k < QUERIES; ++k) {
            likeness[static_cast<size_t>(first + k) * count + document] =
                dots[k] * rsqrtf(own * lengths[k]);
        }
    }
}
