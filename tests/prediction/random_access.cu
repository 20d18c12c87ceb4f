// Random words of a table: 1,081,344 threads access 16 of them each.

constexpr int ROUNDS = 16;

__device__ unsigned long long place(unsigned round, unsigned long long mask) {
    unsigned long long x = (blockIdx.x * 256ull + threadIdx.x) * ROUNDS + round;
    x ^= x >> 33;
    x *= 0xff51afd7ed558ccdULL;
    x ^= x >> 33;
    x *= 0xc4ceb9fe1a85ec53ULL;
    return (x ^ x >> 33) & mask;
}

extern "C" __global__ void load(const unsigned* table, unsigned long long mask, unsigned* out) {
    unsigned sum = 0;
#pragma unroll
    for (int i = 0; i < ROUNDS; i++) sum += __ldcg(table + place(i, mask));
    if (sum == 0x12345) out[threadIdx.x] = sum;
}

extern "C" __global__ void store(unsigned* table, unsigned long long mask, unsigned* out) {
#pragma unroll 4
    for (int i = 0; i < ROUNDS; i++) table[place(i, mask)] = threadIdx.x;
}

extern "C" __global__ void add(unsigned* table, unsigned long long mask, unsigned* out) {
#pragma unroll 4
    for (int i = 0; i < ROUNDS; i++) atomicAdd(table + place(i, mask), 1u);
}

extern "C" __global__ void swap(unsigned* table, unsigned long long mask, unsigned* out) {
    unsigned sum = 0;
#pragma unroll 4
    for (int i = 0; i < ROUNDS; i++) sum += atomicCAS(table + place(i, mask), ~0u, threadIdx.x);
    if (sum == 0x12345) out[threadIdx.x] = sum;
}
