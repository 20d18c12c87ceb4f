// Search for the nonce with the smallest ChaCha20 word
//
// Ten double rounds of additions, exclusive-ors and rotations for each nonce, all in registers and
// all needed for the answer. The integer pipe never rests.
//
// /// kernelprof
// kernel = "search"
// block = [256]
// grid = ["blocks"]
// reference = "reference:search"
//
// [sizes]
// blocks = 4752
//
// [check]
// sizes = { blocks = 4 }
//
// [[arguments]]
// name = "key_words"
// type = "uint32"
// shape = [8]
//
// [[arguments]]
// name = "best"
// type = "uint64"
// shape = ["blocks"]
// output = true
//
// [compile]
// standard = "c++17"
// flags = ["-O3"]
// ///

constexpr int NONCES = 8;  // for each thread

__device__ unsigned int turned(unsigned int word, int by) {
    return __funnelshift_l(word, word, by);
}

__device__ void quarter_round(unsigned int& a, unsigned int& b, unsigned int& c,
                              unsigned int& d) {
    a += b;
    d = turned(d ^ a, 16);
    c += d;
    b = turned(b ^ c, 12);
    a += b;
    d = turned(d ^ a, 8);
    c += d;
    b = turned(b ^ c, 7);
}

__device__ unsigned int first_word(const unsigned int (&key)[8], unsigned int nonce) {
    unsigned int s[16] = {0x61707865u, 0x3320646eu, 0x79622d32u, 0x6b206574u,
                          key[0],      key[1],      key[2],      key[3],
                          key[4],      key[5],      key[6],      key[7],
                          0u,          nonce,       0u,          0u};
#pragma unroll 2
    for (int round = 0; round < 10; ++round) {
        quarter_round(s[0], s[4], s[8], s[12]);
        quarter_round(s[1], s[5], s[9], s[13]);
        quarter_round(s[2], s[6], s[10], s[14]);
        quarter_round(s[3], s[7], s[11], s[15]);
        quarter_round(s[0], s[5], s[10], s[15]);
        quarter_round(s[1], s[6], s[11], s[12]);
        quarter_round(s[2], s[7], s[8], s[13]);
        quarter_round(s[3], s[4], s[9], s[14]);
    }
    return s[0] + 0x61707865u;
}

extern "C" __global__ void search(const unsigned int* __restrict__ key_words,
                                  unsigned long long* __restrict__ best) {
    __shared__ unsigned long long of_warp[8];
    unsigned int key[8];
#pragma unroll
    for (int k = 0; k < 8; ++k) key[k] = key_words[k];
    unsigned long long smallest = ~0ull;
#pragma unroll 1
    for (int k = 0; k < NONCES; ++k) {
        const unsigned int nonce = (blockIdx.x * NONCES + k) * blockDim.x + threadIdx.x;
        const unsigned long long word = first_word(key, nonce);
        smallest = min(smallest, word << 32 | nonce);
    }
#pragma unroll
    for (int other = 16; other > 0; other /= 2) {
        smallest = min(smallest, __shfl_xor_sync(~0u, smallest, other));
    }
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = smallest;
    __syncthreads();
    if (threadIdx.x == 0) {
#pragma unroll
        for (int warp = 1; warp < 8; ++warp) smallest = min(smallest, of_warp[warp]);
        best[blockIdx.x] = smallest;
    }
}
