// Totals by customer, a block for each list and one load at a time
//
// Eight customers have lists of 114,688 values, forty times the usual: their blocks work on long
// after all others have ended. Each of their threads waits for one load before it asks for the
// next. Shorter pieces would help, and so would more loads under way.
//
// /// kernelprof
// kernel = "total"
// block = [128]
// grid = ["customers"]
// reference = "reference:total"
// min_bytes = "4 * VALUES"
//
// [sizes]
// customers = 16904
// giant = 114688
// VALUES = 44171264
//
// [check]
// sizes = { customers = 136, giant = 8192, VALUES = 393216 }
// tolerance = 1e-4
//
// [[arguments]]
// name = "values"
// type = "float32"
// shape = ["VALUES"]
//
// [[arguments]]
// name = "first"
// type = "int32"
// shape = ["customers"]
// fill = "reference:whole_first"
//
// [[arguments]]
// name = "last"
// type = "int32"
// shape = ["customers"]
// fill = "reference:whole_last"
//
// [[arguments]]
// name = "customer"
// type = "int32"
// shape = ["customers"]
// fill = "reference:whole_customer"
//
// [[arguments]]
// name = "totals"
// type = "float32"
// shape = ["customers"]
// fill = "zeros"
// output = true
//
// [compile]
// standard = "c++17"
// flags = ["-O3"]
// ///

constexpr int THREADS = 128;

// A block adds up the values from first to last of one customer.
extern "C" __global__ void total(const float* __restrict__ values, const int* __restrict__ first,
                                 const int* __restrict__ last, const int* __restrict__ customer,
                                 float* __restrict__ totals) {
    __shared__ float of_warp[THREADS / 32];
    const int end = last[blockIdx.x];
    float sum = 0.0f;
#pragma unroll 1
    for (int k = first[blockIdx.x] + threadIdx.x; k < end; k += THREADS) sum += values[k];
#pragma unroll
    for (int other = 16; other > 0; other /= 2) sum += __shfl_xor_sync(~0u, sum, other);
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        atomicAdd(&totals[customer[blockIdx.x]],
                  (of_warp[0] + of_warp[1]) + (of_warp[2] + of_warp[3]));
    }
}
