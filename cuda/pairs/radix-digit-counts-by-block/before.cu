// Digit counts for a radix sort of 64-bit keys
//
// The first pass of a radix sort counts each key's top byte. Every block counts in shared memory
// and adds its 256 counts up once, so that reading the keys is all that takes time.
//
// /// kernelprof
// kernel = "count_digits"
// block = [256]
// grid = ["BLOCKS"]
// reference = "reference:count_digits"
// min_bytes = "8 * BLOCKS * 32768"
//
// [sizes]
// BLOCKS = 1056
//
// [check]
// sizes = { BLOCKS = 8 }
//
// [[arguments]]
// name = "keys"
// type = "uint64"
// shape = ["BLOCKS", 32768]
// fill = "reference:keys"
//
// [[arguments]]
// name = "counts"
// type = "uint32"
// shape = [256]
// fill = "zeros"
// output = true
//
// [compile]
// standard = "c++17"
// flags = ["-O3"]
// ///

constexpr int PAIRS = 64;  // of keys, for each thread
constexpr int BATCH = 4;

extern "C" __global__ void count_digits(const ulonglong2* __restrict__ keys,
                                        unsigned int* __restrict__ counts) {
    __shared__ unsigned int here[256];
    here[threadIdx.x] = 0;
    __syncthreads();
    const ulonglong2* next = keys + static_cast<size_t>(blockIdx.x) * (PAIRS * 256) + threadIdx.x;
#pragma unroll 1
    for (int k = 0; k < PAIRS; k += BATCH) {
        ulonglong2 pair[BATCH];
#pragma unroll
        for (int b = 0; b < BATCH; ++b) pair[b] = next[(k + b) * 256];
#pragma unroll
        for (int b = 0; b < BATCH; ++b) {
            atomicAdd(&here[pair[b].x >> 56], 1u);
            atomicAdd(&here[pair[b].y >> 56], 1u);
        }
    }
    __syncthreads();
    atomicAdd(&counts[threadIdx.x], here[threadIdx.x]);
}
