// CRC-32 of many packets, one bit at a time
//
// Each thread takes one packet of 256 bytes. A bit costs a shift, a mask and an exclusive-or, so
// that a byte takes some thirty instructions, nearly all on the integer pipe.
//
// /// kernelprof
// kernel = "checksums"
// block = [256]
// grid = ["packets // 256"]
// reference = "reference:checksums"
// min_bytes = "(4 * WORDS + 4) * packets"
//
// [sizes]
// packets = 524288
//
// [check]
// sizes = { packets = 4096 }
//
// [[arguments]]
// name = "packet"
// type = "uint32"
// shape = ["packets", "WORDS"]
// fill = "reference:packet"
//
// [[arguments]]
// name = "out"
// type = "uint32"
// shape = ["packets"]
// output = true
//
// [compile]
// flags = ["-O3"]
// standard = "c++17"
// defines = { WORDS = 64 }
// ///

constexpr unsigned kPolynomial = 0xedb88320u;  // of Ethernet, the lowest bit first

extern "C" __global__ void checksums(const unsigned* __restrict__ packet,
                                     unsigned* __restrict__ out) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const uint4* from = reinterpret_cast<const uint4*>(packet + static_cast<size_t>(i) * WORDS);
    unsigned sum = ~0u;
#pragma unroll 1
    for (int four = 0; four < WORDS / 4; ++four) {
        const uint4 next = from[four];
        const unsigned words[4] = {next.x, next.y, next.z, next.w};
#pragma unroll
        for (int w = 0; w < 4; ++w) {
            sum ^= words[w];
#pragma unroll
            for (int bit = 0; bit < 32; ++bit) {
                sum = (sum >> 1) ^ (sum & 1 ? kPolynomial : 0);
            }
        }
    }
    out[i] = ~sum;
}
