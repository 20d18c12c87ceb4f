// AES-128 in counter mode, the table of a round in constant memory
//
// A byte of each lane's state chooses the entry: a warp looks up some 30 different constant
// addresses at a time, 160 times for a block of 16 bytes, and they are served one after the other.
//
// /// kernelprof
// kernel = "encrypt"
// block = [256]
// grid = ["BLOCKS // 256"]
// reference = "reference:encrypt"
// min_bytes = "32 * BLOCKS"
//
// [sizes]
// BLOCKS = 2162688
//
// [check]
// sizes = { BLOCKS = 4096 }
//
// [[arguments]]
// name = "round_keys"
// type = "uint32"
// shape = [44]
// fill = "reference:round_keys"
//
// [[arguments]]
// name = "plain"
// type = "uint32"
// shape = ["BLOCKS", 4]
// fill = "reference:messages"
//
// [[arguments]]
// name = "coded"
// type = "uint32"
// shape = ["BLOCKS", 4]
// output = true
//
// [compile]
// standard = "c++17"
// flags = ["-O3"]
// ///

struct Table {
    unsigned words[256];
};

constexpr unsigned rotated(unsigned byte, int by) {
    return (byte << by | byte >> (8 - by)) & 255u;
}

constexpr unsigned doubled(unsigned byte) { return (byte << 1 ^ (byte >> 7) * 0x11bu) & 255u; }

// The substitute of each byte, times 2, 1, 1 and 3 in the field of 256 elements. p runs through the
// powers of 3, q through their inverses.
constexpr Table round_table() {
    Table table{};
    unsigned p = 1;
    unsigned q = 1;
    for (int i = 0; i < 256; ++i) {
        p ^= doubled(p);
        q ^= q << 1;
        q ^= q << 2;
        q ^= q << 4;
        q &= 255u;
        if (q & 128u) q ^= 9u;
        const unsigned s = i == 255 ? 0x63u
                                    : q ^ rotated(q, 1) ^ rotated(q, 2) ^ rotated(q, 3) ^
                                          rotated(q, 4) ^ 0x63u;
        table.words[i == 255 ? 0 : p] = doubled(s) << 24 | s << 16 | s << 8 | (doubled(s) ^ s);
    }
    return table;
}

__constant__ Table rounds = round_table();

// A column after a round: a byte from each of four columns is substituted and mixed.
__device__ unsigned mixed(const unsigned* table, unsigned a, unsigned b, unsigned c, unsigned d) {
    const unsigned second = table[b >> 16 & 255u];
    const unsigned third = table[c >> 8 & 255u];
    const unsigned fourth = table[d & 255u];
    return table[a >> 24] ^ __funnelshift_r(second, second, 8) ^
           __funnelshift_r(third, third, 16) ^ __funnelshift_r(fourth, fourth, 24);
}

// The last round only substitutes.
__device__ unsigned substituted(const unsigned* table, unsigned a, unsigned b, unsigned c,
                                unsigned d) {
    return (table[a >> 24] << 8 & 0xff000000u) | (table[b >> 16 & 255u] & 0x00ff0000u) |
           (table[c >> 8 & 255u] & 0x0000ff00u) | (table[d & 255u] >> 8 & 0x000000ffu);
}

extern "C" __global__ void encrypt(const uint4* __restrict__ round_keys,
                                   const uint4* __restrict__ plain, uint4* __restrict__ coded) {
    const unsigned* table = rounds.words;
    const unsigned block = blockIdx.x * blockDim.x + threadIdx.x;
    const uint4 first = round_keys[0];
    uint4 s = make_uint4(first.x, first.y, first.z, first.w ^ block);
#pragma unroll 1
    for (int round = 1; round < 10; ++round) {
        const uint4 key = round_keys[round];
        s = make_uint4(mixed(table, s.x, s.y, s.z, s.w) ^ key.x,
                       mixed(table, s.y, s.z, s.w, s.x) ^ key.y,
                       mixed(table, s.z, s.w, s.x, s.y) ^ key.z,
                       mixed(table, s.w, s.x, s.y, s.z) ^ key.w);
    }
    const uint4 key = round_keys[10];
    const uint4 text = plain[block];
    coded[block] = make_uint4(substituted(table, s.x, s.y, s.z, s.w) ^ key.x ^ text.x,
                              substituted(table, s.y, s.z, s.w, s.x) ^ key.y ^ text.y,
                              substituted(table, s.z, s.w, s.x, s.y) ^ key.z ^ text.z,
                              substituted(table, s.w, s.x, s.y, s.z) ^ key.w ^ text.w);
}
