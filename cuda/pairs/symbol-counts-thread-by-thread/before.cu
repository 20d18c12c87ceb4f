// Histogram of 16 symbols, each thread's counters in a row
//
// Every thread counts for itself in shared memory. With 16 counters a thread the bank is given by
// the symbol, and lanes that count like symbols wait for each other.
//
// /// kernelprof
// kernel = "count_symbols"
// block = [256]
// grid = ["min(1056, ceil_div(n, 4096))"]
// reference = "reference:count_symbols"
// min_bytes = "n"
//
// [sizes]
// n = 67108864
//
// [check]
// sizes = { n = 1048576 }
//
// [[arguments]]
// name = "symbols"
// type = "uint8"
// shape = ["n"]
//
// [[arguments]]
// name = "totals"
// type = "int32"
// shape = [16]
// output = true
// fill = "zeros"
//
// [[arguments]]
// name = "n"
// type = "int32"
// value = "n"
//
// [compile]
// flags = ["-O3"]
// standard = "c++17"
// ///

constexpr int BINS = 16;
constexpr int THREADS = 256;

__device__ int place(int thread, int bin) {
    return thread * BINS + bin;
}

extern "C" __global__ void count_symbols(const unsigned char* __restrict__ symbols,
                                         int* __restrict__ totals, int n) {
    __shared__ int counts[THREADS * BINS];
    for (int i = threadIdx.x; i < THREADS * BINS; i += THREADS) {
        counts[i] = 0;
    }
    __syncthreads();
    const uint4* packed = reinterpret_cast<const uint4*>(symbols);
    for (int i = blockIdx.x * THREADS + threadIdx.x; i < n / 16; i += gridDim.x * THREADS) {
        const uint4 sixteen = packed[i];
        const unsigned int words[4] = {sixteen.x, sixteen.y, sixteen.z, sixteen.w};
#pragma unroll
        for (int k = 0; k < 16; ++k) {
            const int symbol = (words[k / 4] >> (8 * (k % 4))) & (BINS - 1);
            ++counts[place(threadIdx.x, symbol)];
        }
    }
    __syncthreads();
    const int lane = threadIdx.x % 32;
    for (int bin = threadIdx.x / 32; bin < BINS; bin += THREADS / 32) {
        int sum = 0;
        for (int thread = lane; thread < THREADS; thread += 32) {
            sum += counts[place(thread, bin)];
        }
        for (int step = 16; step > 0; step /= 2) {
            sum += __shfl_xor_sync(0xffffffffu, sum, step);
        }
        if (lane == 0) {
            atomicAdd(&totals[bin], sum);
        }
    }
}
