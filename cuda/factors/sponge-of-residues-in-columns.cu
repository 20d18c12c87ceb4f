// /// factors
// title = "Sponge hash whose state is a square of residues modulo a Mersenne prime"
// kind = "both pay"
// blind = true
// expect = "A round first mixes columns of a tile of 32 words a row, then cubes each residue with 64-bit remainders; a barrier separates them."
//
// [causes.A]
// bottleneck = "shared-bank-conflicts"
// fix = "Pad a row of the square from 32 to 33 words."
//
// [causes.B]
// bottleneck = "integer-throughput"
// fix = "Fold a product at bit 31 instead of a 64-bit remainder by a prime known at run time only."
// ///
#include "common.cuh"

constexpr int kSide = 32, kState = kSide * kSide, kSponges = 132, kRounds = 128;
constexpr unsigned kPrime = 2147483647u;
#ifdef FIX_A
constexpr int kPitch = kSide + 1;
#else
constexpr int kPitch = kSide;
#endif

__device__ inline unsigned reduce(unsigned long long x, unsigned long long prime) {
#ifdef FIX_B
    unsigned y = unsigned(x & kPrime) + unsigned((x >> 31) & kPrime);
    y = (y & kPrime) + (y >> 31) + unsigned(x >> 62);
    return y >= kPrime ? y - kPrime : y;
#else
    return unsigned(x % prime);
#endif
}

__global__ void __launch_bounds__(kState) k(const unsigned* messages, unsigned long long prime, unsigned* digests) {
    __shared__ unsigned square[kSide * kPitch];
    const int t = threadIdx.x, row = t % kSide, column = t / kSide;
    const int own = row * kPitch + column;
    const int left = row * kPitch + (column + 31) % kSide, right = row * kPitch + (column + 5) % kSide;
    square[own] = messages[blockIdx.x * kState + t] % kPrime;
    __syncthreads();
#pragma unroll 1
    for (int round = 0; round < kRounds; ++round) {
        const unsigned a = square[own], b = square[left], c = square[right];
        __syncthreads();
        const unsigned long long mixed = 3ull * a + 5ull * b + 0x12345ull * c + round;
        const unsigned long long x = reduce(mixed, prime);
        const unsigned long long squared = reduce(x * x, prime);
        square[own] = reduce(squared * x, prime);
        __syncthreads();
    }
    digests[blockIdx.x * kState + t] = square[own];
}

int main() {
    unsigned* messages = uniform<unsigned>(kState * kSponges, 0.0, 4294967295.0, 221);
    unsigned* digests = zeros<unsigned>(kState * kSponges);
    MEASURE(digests, kState * kSponges, k<<<kSponges, kState>>>(messages, kPrime, digests));
}
