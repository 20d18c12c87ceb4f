// SHA-256 of windows of one to twelve blocks, with a loop over blocks
//
// The rounds of a block stay straight code, but there is one copy of them, which fits the cache.
//
// /// kernelprof
// kernel = "digest_windows"
// block = [128]
// grid = ["windows // 128"]
// reference = "reference:digest_windows"
//
// [sizes]
// windows = 1081344
//
// [check]
// sizes = { windows = 1024 }
//
// [[arguments]]
// name = "text"
// type = "uint32"
// shape = ["windows + 12 * 16"]
// fill = "reference:text"
//
// [[arguments]]
// name = "blocks"
// type = "int32"
// shape = ["windows // 32"]
// fill = "reference:blocks"
//
// [[arguments]]
// name = "digests"
// type = "uint32"
// shape = [8, "windows"]
// output = true
//
// [[arguments]]
// name = "count"
// type = "int32"
// value = "windows"
//
// [compile]
// flags = ["-O3"]
// standard = "c++17"
// ///

// First digest and round constants of SHA-256 (FIPS 180-4).
__constant__ unsigned START[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                  0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
__constant__ unsigned CONSTANTS[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

__device__ unsigned rotated(unsigned x, int by) { return (x >> by) | (x << (32 - by)); }

// Takes a block of sixteen words into the digest.
__device__ void take(unsigned (&digest)[8], unsigned (&w)[16]) {
    unsigned s[8];
#pragma unroll
    for (int i = 0; i < 8; ++i) s[i] = digest[i];
#pragma unroll
    for (int round = 0; round < 64; ++round) {
        unsigned& word = w[round % 16];
        if (round >= 16) {
            const unsigned late = w[(round + 14) % 16];
            const unsigned early = w[(round + 1) % 16];
            word += (rotated(late, 17) ^ rotated(late, 19) ^ (late >> 10)) + w[(round + 9) % 16] +
                    (rotated(early, 7) ^ rotated(early, 18) ^ (early >> 3));
        }
        const unsigned one = s[7] + (rotated(s[4], 6) ^ rotated(s[4], 11) ^ rotated(s[4], 25)) +
                             ((s[4] & s[5]) ^ (~s[4] & s[6])) + CONSTANTS[round] + word;
        const unsigned two = (rotated(s[0], 2) ^ rotated(s[0], 13) ^ rotated(s[0], 22)) +
                             ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
#pragma unroll
        for (int k = 7; k > 0; --k) s[k] = s[k - 1];
        s[4] += one;
        s[0] = one + two;
    }
#pragma unroll
    for (int i = 0; i < 8; ++i) digest[i] += s[i];
}

// Takes the block of that number of a window, which ends three words before its last block does.
__device__ __forceinline__ void take_block(unsigned (&digest)[8], const unsigned* window, int block,
                                           int length) {
    unsigned w[16];
#pragma unroll
    for (int i = 0; i < 16; ++i) w[i] = window[block * 16 + i];
    if (block == length - 1) {
        w[13] = 0x80000000;
        w[14] = 0;
        w[15] = (block * 16 + 13) * 32;
    }
    take(digest, w);
}

extern "C" __global__ void __launch_bounds__(128, 9)
    digest_windows(const unsigned* __restrict__ text, const int* __restrict__ blocks,
                   unsigned* __restrict__ digests, int count) {
    const int window = blockIdx.x * 128 + threadIdx.x;
    const int length = blocks[window / 32];
    unsigned digest[8];
#pragma unroll
    for (int i = 0; i < 8; ++i) digest[i] = START[i];
#pragma unroll 1
    for (int block = 0; block < length; ++block) take_block(digest, text + window, block, length);
#pragma unroll
    for (int i = 0; i < 8; ++i) digests[i * count + window] = digest[i];
}
