// /// factors
// title = "Fingerprints of log lines: classify each character and hash it by its class"
// kind = "both pay"
// expect = "All three causes cost issue slots of the same warps."
// tolerance = 0.0
//
// [causes.A]
// bottleneck = "instruction-issue"
// fix = "Count the bits of a character with __popc instead of a loop over its bits."
//
// [causes.B]
// bottleneck = "warp-divergence"
// fix = "Look up multiplier and addend of a class instead of one branch for each class."
//
// [causes.C]
// bottleneck = "integer-throughput"
// fix = "Reduce by a constant prime instead of one passed as an argument."
// ///
#include "common.cuh"

constexpr int kLine = 128, kLines = 1 << 19;

__global__ void __launch_bounds__(128) k(const uint4* text, const uint2* classes, unsigned long long prime,
                                         unsigned* prints) {
#ifdef FIX_B
    __shared__ uint2 table[256];
    for (int i = threadIdx.x; i < 256; i += blockDim.x) table[i] = classes[i];
    __syncthreads();
#endif
    const int line = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned long long print = 17;
    for (int group = 0; group < kLine; group += 16) {
        alignas(16) unsigned char part[16];
        *reinterpret_cast<uint4*>(part) = text[group / 16 * kLines + line];
#pragma unroll
        for (int i = 0; i < 16; ++i) {
            const unsigned c = part[i];
#ifdef FIX_B
            print = print * table[c].x + table[c].y;
#else
            if (c >= '0' && c <= '9') {
                print = print * 31u + (c ^ 5u);
            } else if (c >= 'a' && c <= 'z') {
                print = print * 37u + (c * 3u);
            } else if (c >= 'A' && c <= 'Z') {
                print = print * 37u + (c + 32u) * 3u;
            } else if (c == ' ' || c == '\t') {
                print = print * 41u + 1u;
            } else {
                print = print * 43u + (c ^ 77u);
            }
#endif
#ifdef FIX_A
            print += __popc(c);
#else
            for (unsigned bits = c; bits != 0; bits >>= 1) print += bits & 1;
#endif
#ifdef FIX_C
            print %= 15485863ull;
#else
            print %= prime;
#endif
        }
    }
    prints[line] = print;
}

int main() {
    std::vector<uint2> classes(256);
    for (unsigned c = 0; c < 256; ++c) {
        classes[c] = make_uint2(43, c ^ 77u);
        if (c >= '0' && c <= '9') classes[c] = make_uint2(31, c ^ 5u);
        if (c >= 'a' && c <= 'z') classes[c] = make_uint2(37, c * 3u);
        if (c >= 'A' && c <= 'Z') classes[c] = make_uint2(37, (c + 32u) * 3u);
        if (c == ' ' || c == '\t') classes[c] = make_uint2(41, 1);
    }
    const uint4* text = reinterpret_cast<uint4*>(uniform<unsigned char>(size_t(kLine) * kLines, 32.0, 127.0, 19));
    const uint2* table = upload(classes);
    unsigned* prints = zeros<unsigned>(kLines);
    MEASURE(prints, kLines, k<<<kLines / 128, 128>>>(text, table, 15485863ull, prints));
}
