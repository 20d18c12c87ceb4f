// Join keys with a hash table and count groups, with room for the groups there are
//
// The counters take 1 KB, so that sixteen blocks fit on an SM and five times as many lookups are
// under way.
//
// /// kernelprof
// kernel = "count_groups"
// block = [128]
// grid = ["lookups // 512"]
// reference = "reference:count_groups"
//
// [sizes]
// lookups = 4194304
// bits = 19
// group_count = 256
//
// [check]
// sizes = { lookups = 4096, bits = 8, group_count = 256 }
//
// [[arguments]]
// name = "table"
// type = "uint32"
// shape = ["2 ** bits", 32]
// fill = "reference:table"
//
// [[arguments]]
// name = "groups"
// type = "int32"
// shape = ["2 ** bits", 32]
// fill = "reference:groups"
//
// [[arguments]]
// name = "keys"
// type = "uint32"
// shape = ["lookups"]
// fill = "reference:keys"
//
// [[arguments]]
// name = "counts"
// type = "int32"
// shape = ["group_count"]
// fill = "zeros"
// output = true
//
// [[arguments]]
// name = "bits"
// type = "int32"
// value = "bits"
//
// [[arguments]]
// name = "group_count"
// type = "int32"
// value = "group_count"
//
// [compile]
// flags = ["-O3"]
// standard = "c++17"
//
// [launch]
// shared_bytes = "4 * group_count"
// ///

constexpr int EACH = 128;  // keys that a warp looks up

extern "C" __global__ void __launch_bounds__(128)
    count_groups(const unsigned* __restrict__ table, const int* __restrict__ groups,
                 const unsigned* __restrict__ keys, int* __restrict__ counts, int bits,
                 int group_count) {
    extern __shared__ int seen[];
    for (int group = threadIdx.x; group < group_count; group += 128) seen[group] = 0;
    __syncthreads();

    const int lane = threadIdx.x % 32;
    const int warp = blockIdx.x * 4 + threadIdx.x / 32;
    for (int turn = 0; turn < EACH; turn += 32) {
        const unsigned own = keys[warp * EACH + turn + lane];
#pragma unroll 1
        for (int k = 0; k < 32; ++k) {
            // A bucket is 32 keys: each lane compares one of them.
            const unsigned key = __shfl_sync(~0u, own, k);
            const unsigned bucket = key * 2654435761u >> (32 - bits);
            const bool found = table[bucket * 32 + lane] == key;
            if (found) atomicAdd(&seen[groups[bucket * 32 + lane]], 1);
        }
    }
    __syncthreads();
    for (int group = threadIdx.x; group < group_count; group += 128) {
        if (seen[group] > 0) atomicAdd(&counts[group], seen[group]);
    }
}
