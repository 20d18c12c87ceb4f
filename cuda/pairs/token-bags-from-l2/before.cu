// Mean embedding of bags of tokens, the table in L2
//
// A warp adds up the rows of 32 tokens, each row a single request of 512 bytes. The table of 16 MB
// is too large for L1 and fits L2, and tokens are random: L2 has to deliver every row anew.
//
// /// kernelprof
// kernel = "embed_bags"
// block = [256]
// grid = ["BAGS // 8"]
// reference = "reference:embed_bags"
//
// [sizes]
// BAGS = 67584
// rows = 32768
//
// [check]
// sizes = { BAGS = 256 }
//
// [[arguments]]
// name = "table"
// type = "float32"
// shape = ["rows", 128]
//
// [[arguments]]
// name = "tokens"
// type = "int32"
// shape = ["BAGS", 32]
// fill = "reference:tokens"
//
// [[arguments]]
// name = "means"
// type = "float32"
// shape = ["BAGS", 128]
// output = true
//
// [compile]
// standard = "c++17"
// flags = ["-O3"]
// ///

constexpr int BAG = 32;
constexpr int QUADS = 32;  // float4 of a row of 128

extern "C" __global__ void embed_bags(const float4* __restrict__ table,
                                      const int* __restrict__ tokens,
                                      float4* __restrict__ means) {
    const int lane = threadIdx.x % 32;
    const int bag = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    const int mine = tokens[bag * BAG + lane];
    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll 4
    for (int k = 0; k < BAG; ++k) {
        const int token = __shfl_sync(~0u, mine, k);
        const float4 row = __ldcg(&table[token * QUADS + lane]);
        sum.x += row.x;
        sum.y += row.y;
        sum.z += row.z;
        sum.w += row.w;
    }
    const float part = 1.0f / BAG;
    means[bag * QUADS + lane] =
        make_float4(sum.x * part, sum.y * part, sum.z * part, sum.w * part);
}
