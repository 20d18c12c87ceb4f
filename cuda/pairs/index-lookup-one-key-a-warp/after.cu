// Look up keys in a tree of 32-way nodes, four keys a warp at a time
//
// A warp descends for four keys side by side, so that four nodes are under way.
//
// /// kernelprof
// kernel = "look_up"
// block = [256]
// grid = ["lookups // 256"]
// reference = "reference:look_up"
//
// [sizes]
// lookups = 1048576
// levels = 5
//
// [check]
// sizes = { lookups = 4096, levels = 3 }
//
// [[arguments]]
// name = "inner"
// type = "int32"
// shape = ["(32 ** levels - 32) // 31"]
// fill = "reference:inner"
//
// [[arguments]]
// name = "leaves"
// type = "int32"
// shape = ["32 ** levels"]
// fill = "reference:leaves"
//
// [[arguments]]
// name = "wanted"
// type = "int32"
// shape = ["lookups"]
// fill = "reference:wanted"
//
// [[arguments]]
// name = "found"
// type = "int32"
// shape = ["lookups"]
// output = true
//
// [[arguments]]
// name = "levels"
// type = "int32"
// value = "levels"
//
// [compile]
// flags = ["-O3"]
// standard = "c++17"
// ///

constexpr int AT_ONCE = 4;  // lookups of a warp

extern "C" __global__ void __launch_bounds__(256)
    look_up(const int* __restrict__ inner, const int* __restrict__ leaves,
            const int* __restrict__ wanted, int* __restrict__ found, int levels) {
    const int lane = threadIdx.x % 32;
    const int i = blockIdx.x * 256 + threadIdx.x;
    const int own = wanted[i];
    int result = 0;
#pragma unroll 1
    for (int turn = 0; turn < 32; turn += AT_ONCE) {
        int key[AT_ONCE];
        int node[AT_ONCE];
#pragma unroll
        for (int k = 0; k < AT_ONCE; ++k) {
            key[k] = __shfl_sync(~0u, own, turn + k);
            node[k] = 0;
        }
        // A node is 32 keys, the first ones below each child; the lanes compare all of them.
        const int* level = inner;
        for (int below = levels - 1, size = 32; below >= 0; --below, size *= 32) {
            if (below == 0) level = leaves;
            int separator[AT_ONCE];
#pragma unroll
            for (int k = 0; k < AT_ONCE; ++k) separator[k] = level[node[k] * 32 + lane];
#pragma unroll
            for (int k = 0; k < AT_ONCE; ++k) {
                const unsigned before = __ballot_sync(~0u, separator[k] <= key[k]);
                node[k] = node[k] * 32 + __popc(before) - 1;
            }
            level += size;
        }
#pragma unroll
        for (int k = 0; k < AT_ONCE; ++k) result = lane == turn + k ? node[k] : result;
    }
    found[i] = result;
}
