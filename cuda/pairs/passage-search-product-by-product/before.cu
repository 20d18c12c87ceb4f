// Best passage of every 128 for each query, a product at a time
//
// A block keeps 128 queries in shared memory, and passages stream by in a ring of four tiles. The
// warpgroup waits for each matrix instruction before it issues the next, so that the tensor cores
// stand idle between any two.
//
// /// kernelprof
// kernel = "search"
// block = [160]
// grid = ["QUERIES // 128"]
// reference = "reference:search"
// flops = "2 * QUERIES * PASSAGES * 512"
// min_bytes = "1024 * (QUERIES + PASSAGES) + PASSAGES // 32 * QUERIES"
//
// [sizes]
// QUERIES = 16896
// PASSAGES = 16384
//
// [check]
// sizes = { QUERIES = 256, PASSAGES = 640 }
//
// [[arguments]]
// name = "queries"
// type = "bfloat16"
// shape = ["QUERIES", 512]
// fill = "normal"
// passed = false
//
// [[arguments]]
// name = "passages"
// type = "bfloat16"
// shape = ["PASSAGES", 512]
// fill = "normal"
// passed = false
//
// [[arguments]]
// name = "queries_map"
// tensor_map = { of = "queries", box = [64, 128], swizzle = "128B" }
//
// [[arguments]]
// name = "passages_map"
// tensor_map = { of = "passages", box = [64, 128], swizzle = "128B" }
//
// [[arguments]]
// name = "best"
// type = "float32"
// shape = ["PASSAGES // 128", "QUERIES"]
// output = true
//
// [[arguments]]
// name = "queries_count"
// type = "int32"
// value = "QUERIES"
//
// [[arguments]]
// name = "passages_count"
// type = "int32"
// value = "PASSAGES"
//
// [compile]
// flags = ["-O3"]
// standard = "c++17"
//
// [launch]
// shared_bytes = "12 * 1024 * 16 + 72"
// ///

#include <cuda.h>

constexpr int TILE = 128;
constexpr int DEPTH = 64;
constexpr int STEPS = 512 / DEPTH;
constexpr unsigned TILE_BYTES = TILE * DEPTH * 2;
constexpr int STAGES = 4;

#define FOUR(d, i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define SIXTEEN(d, i) FOUR(d, i), FOUR(d, i + 4), FOUR(d, i + 8), FOUR(d, i + 12)
#define SIXTY_FOUR(d, i) \
    SIXTEEN(d, i), SIXTEEN(d, i + 16), SIXTEEN(d, i + 32), SIXTEEN(d, i + 48)

__device__ __forceinline__ unsigned shared_address(const void* at) {
    return static_cast<unsigned>(__cvta_generic_to_shared(at));
}

__device__ __forceinline__ void barrier_init(unsigned barrier, int arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals));
}

// What these threads wrote to shared memory is seen by TMA and the tensor cores.
__device__ __forceinline__ void publish_writes() {
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// Arrives; the phase also waits for so many bytes from TMA.
__device__ __forceinline__ void barrier_expect(unsigned barrier, unsigned bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
                 : "memory");
}

__device__ __forceinline__ void barrier_arrive(unsigned barrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

__device__ __forceinline__ void barrier_wait(unsigned barrier, unsigned parity) {
    asm volatile(
        "{.reg .pred done;\n"
        "again: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
        "@!done bra again;}\n" ::"r"(barrier), "r"(parity)
        : "memory");
}

__device__ __forceinline__ void load_tile(unsigned to, const CUtensorMap& map, int column, int row,
                                          unsigned barrier) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
        "[%0], [%1, {%2, %3}], [%4];" ::"r"(to), "l"(&map), "r"(column), "r"(row), "r"(barrier)
        : "memory");
}

// A tile of 128-byte rows in TMA's 128-byte swizzle; eight rows are 1024 bytes.
__device__ __forceinline__ unsigned long long descriptor(unsigned address) {
    return (address >> 4 & 0x3FFF) | 1ull << 16 | 64ull << 32 | 1ull << 62;
}

__device__ __forceinline__ void products_begin() {
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

__device__ __forceinline__ void products_commit() {
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

// Until all groups of products but the youngest LEFT are done.
template <int LEFT>
__device__ __forceinline__ void products_wait() {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(LEFT) : "memory");
}

// Keeps reads of sums behind the wait for them.
template <int COUNT>
__device__ __forceinline__ void settle(float (&d)[COUNT]) {
#pragma unroll
    for (int i = 0; i < COUNT; ++i) asm volatile("" : "+f"(d[i])::"memory");
}

// d = a b + d, or a b where `keep` is 0: 64 x 128 from 64 x 16 and 16 x 128 in shared memory.
__device__ __forceinline__ void multiply(float (&d)[64], unsigned long long a,
                                         unsigned long long b, int keep) {
    asm volatile(
        "{.reg .pred more; setp.ne.b32 more, %66, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, "
        "%18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, "
        "%34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, "
        "%50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
        "}, %64, %65, more, 1, 1, 0, 0;}\n"
        : SIXTY_FOUR(d, 0)
        : "l"(a), "l"(b), "r"(keep));
}

// The largest of a row's sums for two rows, eight apart; the four lanes that share them store them.
__device__ __forceinline__ void store_largest(float* to, const float (&sum)[TILE / 2]) {
    float upper = sum[0], lower = sum[2];
#pragma unroll
    for (int j = 0; j < TILE / 8; ++j) {
        upper = fmaxf(upper, fmaxf(sum[4 * j], sum[4 * j + 1]));
        lower = fmaxf(lower, fmaxf(sum[4 * j + 2], sum[4 * j + 3]));
    }
#pragma unroll
    for (int lanes = 1; lanes <= 2; lanes *= 2) {
        upper = fmaxf(upper, __shfl_xor_sync(0xFFFFFFFFu, upper, lanes));
        lower = fmaxf(lower, __shfl_xor_sync(0xFFFFFFFFu, lower, lanes));
    }
    if (threadIdx.x % 4 == 0) {
        to[0] = upper;
        to[8] = lower;
    }
}

// A row of `best` for every 128 passages: the largest product of each query with one of them.
extern "C" __global__ void __launch_bounds__(160, 1)
    search(const __grid_constant__ CUtensorMap queries,
           const __grid_constant__ CUtensorMap passages, float* __restrict__ best,
           int queries_count, int passages_count) {
    extern __shared__ __align__(1024) unsigned char memory[];
    const unsigned own = shared_address(memory);
    const unsigned tiles = own + STEPS * TILE_BYTES;
    const unsigned full = tiles + STAGES * TILE_BYTES;
    const unsigned empty = full + STAGES * 8;
    const unsigned ready = empty + STAGES * 8;
    const int first = blockIdx.x * TILE;
    const int count = passages_count / TILE;
    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; ++s) {
            barrier_init(full + 8 * s, 1);
            barrier_init(empty + 8 * s, 4);
        }
        barrier_init(ready, 1);
        publish_writes();
    }
    __syncthreads();

    if (threadIdx.x >= 128) {
        if (threadIdx.x > 128) return;
        barrier_expect(ready, STEPS * TILE_BYTES);
        for (int step = 0; step < STEPS; ++step) {
            load_tile(own + step * TILE_BYTES, queries, step * DEPTH, first, ready);
        }
        for (int slot = 0; slot < count * STEPS; ++slot) {
            const int s = slot % STAGES;
            barrier_wait(empty + 8 * s, slot / STAGES % 2 ^ 1);
            barrier_expect(full + 8 * s, TILE_BYTES);
            load_tile(tiles + s * TILE_BYTES, passages, slot % STEPS * DEPTH, slot / STEPS * TILE,
                      full + 8 * s);
        }
        return;
    }

    const int lane = threadIdx.x % 32;
    float* to = best + first + threadIdx.x / 32 * 16 + lane / 4;
    barrier_wait(ready, 0);
    int slot = 0;
    for (int tile = 0; tile < count; ++tile) {
        float top[TILE / 2], bottom[TILE / 2];
        for (int step = 0; step < STEPS; ++step, ++slot) {
            const int s = slot % STAGES;
            const unsigned long long a_tile = descriptor(own + step * TILE_BYTES);
            const unsigned long long a_below = descriptor(own + step * TILE_BYTES + TILE_BYTES / 2);
            const unsigned long long b_tile = descriptor(tiles + s * TILE_BYTES);
            barrier_wait(full + 8 * s, slot / STAGES % 2);
#pragma unroll
            for (int i = 0; i < DEPTH / 16; ++i) {
                products_begin();
                multiply(top, a_tile + 2 * i, b_tile + 2 * i, step + i);
                products_commit();
                products_wait<0>();
                products_begin();
                multiply(bottom, a_below + 2 * i, b_tile + 2 * i, step + i);
                products_commit();
                products_wait<0>();
            }
            if (lane == 0) barrier_arrive(empty + 8 * s);
        }
        settle(top);
        settle(bottom);
        store_largest(to, top);
        store_largest(to + 64, bottom);
        to += queries_count;
    }
}
