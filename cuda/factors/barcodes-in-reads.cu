// /// factors
// title = "The nearest of sixteen barcodes of 32 bases in reads of 128 bases, by Myers's bit vectors"
// kind = "healthy"
// blind = true
// expect = "About 20 logical and integer instructions a base and barcode, all needed, fill the integer pipe at full occupancy; reads come coalesced, two bits a base, and barcodes are the same for all lanes."
// ///
#include "common.cuh"

constexpr int kReads = 1 << 19, kBarcodes = 16, kWords = 8;

// Bit i of low and high: the two bits of base i.
struct Barcode {
    unsigned low, high;
};

// A column of the table of edit distances: differences of +1 and of -1 between its rows.
struct Column {
    unsigned plus = ~0u, minus = 0;
    int score = 32;

    __device__ __forceinline__ void step(unsigned equal) {
        const unsigned v = equal | minus;
        const unsigned h = (((equal & plus) + plus) ^ plus) | equal;
        unsigned up = minus | ~(h | plus), down = plus & h;
        score += static_cast<int>(up >> 31) - static_cast<int>(down >> 31);
        up <<= 1;
        down <<= 1;
        plus = down | ~(v | up);
        minus = up & v;
    }
};

__global__ void __launch_bounds__(256) k(const unsigned* __restrict__ reads,
                                         const Barcode* __restrict__ barcodes, int* nearest) {
    const int read = blockIdx.x * 256 + threadIdx.x;
    int best = 1 << 20;
#pragma unroll 1
    for (int b = 0; b < kBarcodes; ++b) {
        const Barcode barcode = barcodes[b];
        Column column;
        int least = 32;
#pragma unroll 1
        for (int w = 0; w < kWords; ++w) {
            const unsigned word = reads[w * kReads + read];
#pragma unroll
            for (int n = 0; n < 16; ++n) {
                const unsigned low = 0u - (word >> (2 * n) & 1u);
                const unsigned high = 0u - (word >> (2 * n + 1) & 1u);
                column.step(~((low ^ barcode.low) | (high ^ barcode.high)));
                least = min(least, column.score);
            }
        }
        best = min(best, least * kBarcodes + b);
    }
    nearest[read] = best;
}

int main() {
    std::vector<Barcode> host(kBarcodes);
    for (unsigned b = 0; b < kBarcodes; ++b) host[b] = {hash32(2 * b + 1131), hash32(2 * b + 1132)};
    std::vector<unsigned> words(size_t(kReads) * kWords);
    for (size_t i = 0; i < words.size(); ++i) words[i] = hash32(unsigned(i) + 1133);
    Barcode* barcodes = upload(host);
    unsigned* reads = upload(words);
    int* nearest = zeros<int>(kReads);
    MEASURE(nearest, kReads, k<<<kReads / 256, 256>>>(reads, barcodes, nearest));
}
