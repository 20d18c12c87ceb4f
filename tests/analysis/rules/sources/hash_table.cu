// /// kernelprof
// kernel = "insert"
// block = [256]
// grid = [2048]
// reference = "none"
// arguments = [
//   { name = "keys", type = "uint32", shape = ["N"] },
//   { name = "table", type = "uint32", shape = ["M"], output = true, fill = "zeros" },
//   { name = "mask", type = "uint32", value = 2097151 },
// ]
// [sizes]
// N = 524288
// M = 2097152
// ///
extern "C" __global__ void insert(const unsigned* keys, unsigned* table, unsigned mask) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned x = i * 2654435761u ^ keys[i] ;
    x ^= x >> 16; x *= 0x7feb352du; x ^= x >> 15; x *= 0x846ca68bu; x ^= x >> 16;
    unsigned slot = x & mask;
    for (int t = 0; t < 8; ++t) {
        unsigned old = atomicCAS(table + slot, 0u, x | 1u);
        if (old == 0u || old == (x | 1u)) break;
        slot = (slot + 1) & mask;
    }
}
