// /// factors
// title = "Philox random numbers from counters"
// kind = "healthy"
// limit = "integer-throughput"
// expect = "Wide integer products are the limit; each of the ten rounds is needed."
// ///
#include "common.cuh"

constexpr int kStreams = 1 << 22, kDraws = 32;

__global__ void __launch_bounds__(256) k(uint2 seed, unsigned* mixed) {
    const unsigned stream = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned sum = 0;
#pragma unroll 2
    for (unsigned draw = 0; draw < kDraws; ++draw) {
        uint4 c = make_uint4(draw, stream, 0, 7);
        uint2 key = seed;
#pragma unroll
        for (int round = 0; round < 10; ++round) {
            const unsigned high0 = __umulhi(0xD2511F53u, c.x), low0 = 0xD2511F53u * c.x;
            const unsigned high1 = __umulhi(0xCD9E8D57u, c.z), low1 = 0xCD9E8D57u * c.z;
            c = make_uint4(high1 ^ c.y ^ key.x, low1, high0 ^ c.w ^ key.y, low0);
            key.x += 0x9E3779B9u;
            key.y += 0xBB67AE85u;
        }
        sum ^= c.x + c.y + c.z + c.w;
    }
    mixed[stream] = sum;
}

int main() {
    unsigned* mixed = zeros<unsigned>(kStreams);
    MEASURE(mixed, kStreams, k<<<kStreams / 256, 256>>>(make_uint2(1234, 5678), mixed));
}
