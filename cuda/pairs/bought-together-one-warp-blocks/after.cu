// Items bought together, each counted by a block of eight warps
//
// Eight warps share the 16 KB of counters, so that the warp slots of an SM are full, and eight
// baskets of an item are under way.
//
// /// kernelprof
// kernel = "count_together"
// block = [256]
// grid = ["items"]
// reference = "reference:count_together"
//
// [sizes]
// items = 4096
// people = 1048576
//
// [check]
// sizes = { items = 64, people = 2048 }
//
// [[arguments]]
// name = "users"
// type = "int32"
// shape = ["items", 256]
// fill = "reference:users"
//
// [[arguments]]
// name = "baskets"
// type = "int32"
// shape = ["people", 32]
// fill = "reference:baskets"
//
// [[arguments]]
// name = "together"
// type = "int32"
// shape = ["items", 4096]
// output = true
//
// [compile]
// flags = ["-O3"]
// standard = "c++17"
// ///

constexpr int ITEMS = 4096;
constexpr int USERS = 256;  // of an item
constexpr int BASKET = 32;  // items of a user

extern "C" __global__ void
    count_together(const int* __restrict__ users, const int* __restrict__ baskets,
                   int* __restrict__ together) {
    __shared__ int counts[ITEMS];
    for (int i = threadIdx.x; i < ITEMS; i += blockDim.x) counts[i] = 0;
    __syncthreads();

    const int item = blockIdx.x;
    const int lane = threadIdx.x % 32;
    for (int first = threadIdx.x - lane; first < USERS; first += blockDim.x) {
        const int own = users[item * USERS + first + lane];
#pragma unroll 1
        for (int k = 0; k < 32; ++k) {
            const int user = __shfl_sync(~0u, own, k);
            atomicAdd(&counts[baskets[user * BASKET + lane]], 1);
        }
    }
    __syncthreads();
    for (int i = threadIdx.x; i < ITEMS; i += blockDim.x) together[item * ITEMS + i] = counts[i];
}
