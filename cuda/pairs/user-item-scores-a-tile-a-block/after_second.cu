// Scores of all users and items, larger tiles
//
// Two warpgroups share the users of a tile of 128 x 256: a byte from L2 serves a third more products.
//
// /// kernelprof
// kernel = "score"
// block = [288]
// grid = ["ITEMS // 256 * (USERS // 128)"]
// reference = "reference:scores"
// flops = "2 * USERS * ITEMS * FACTORS"
// min_bytes = "2 * (USERS + ITEMS) * FACTORS + 4 * USERS * ITEMS"
//
// [sizes]
// USERS = 8192
// ITEMS = 8192
// FACTORS = 384
//
// [check]
// sizes = { USERS = 256, ITEMS = 768, FACTORS = 448 }
//
// [[arguments]]
// name = "users"
// type = "bfloat16"
// shape = ["USERS", "FACTORS"]
// fill = "normal"
// passed = false
//
// [[arguments]]
// name = "items"
// type = "bfloat16"
// shape = ["ITEMS", "FACTORS"]
// fill = "normal"
// passed = false
//
// [[arguments]]
// name = "users_map"
// tensor_map = { of = "users", box = [64, 128], swizzle = "128B" }
//
// [[arguments]]
// name = "items_map"
// tensor_map = { of = "items", box = [64, 128], swizzle = "128B" }
//
// [[arguments]]
// name = "out"
// type = "float32"
// shape = ["USERS", "ITEMS"]
// output = true
//
// [[arguments]]
// name = "items_count"
// type = "int32"
// value = "ITEMS"
//
// [[arguments]]
// name = "factors"
// type = "int32"
// value = "FACTORS"
//
// [compile]
// flags = ["-O3"]
// standard = "c++17"
//
// [launch]
// shared_bytes = "4 * 1024 * 48 + 112"
// ///

#include <cuda.h>

constexpr int TILE = 128;
constexpr int DEPTH = 64;
constexpr unsigned TILE_BYTES = TILE * DEPTH * 2;
constexpr unsigned STAGE_BYTES = 3 * TILE_BYTES;
constexpr int CONSUMERS = 2;
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

// Half of a warpgroup's sums: 64 rows.
__device__ __forceinline__ void store(float* to, const float (&sum)[TILE / 2], int stride) {
#pragma unroll
    for (int j = 0; j < TILE / 8; ++j) {
        *reinterpret_cast<float2*>(to + j * 8) = make_float2(sum[4 * j], sum[4 * j + 1]);
        *reinterpret_cast<float2*>(to + 8 * static_cast<size_t>(stride) + j * 8) =
            make_float2(sum[4 * j + 2], sum[4 * j + 3]);
    }
}

// out = users items^T.
extern "C" __global__ void __launch_bounds__(288, 1)
    score(const __grid_constant__ CUtensorMap users, const __grid_constant__ CUtensorMap items,
          float* __restrict__ out, int items_count, int factors) {
    extern __shared__ __align__(1024) unsigned char memory[];
    const unsigned tiles = shared_address(memory);
    const unsigned full = tiles + STAGES * STAGE_BYTES;
    const unsigned empty = full + STAGES * 8;
    const int across = items_count / (CONSUMERS * TILE);
    const int steps = factors / DEPTH;
    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; ++s) {
            barrier_init(full + 8 * s, 1);
            barrier_init(empty + 8 * s, CONSUMERS * 4);
        }
        publish_writes();
    }
    __syncthreads();

    const int first_user = blockIdx.x / across * TILE;
    const int first_item = blockIdx.x % across * (CONSUMERS * TILE);
    if (threadIdx.x >= 256) {
        if (threadIdx.x > 256) return;
        for (int step = 0; step < steps; ++step) {
            const int s = step % STAGES;
            const unsigned a = tiles + s * STAGE_BYTES;
            barrier_wait(empty + 8 * s, step / STAGES % 2 ^ 1);
            barrier_expect(full + 8 * s, STAGE_BYTES);
            load_tile(a, users, step * DEPTH, first_user, full + 8 * s);
            for (int half = 0; half < CONSUMERS; ++half) {
                load_tile(a + (1 + half) * TILE_BYTES, items, step * DEPTH,
                          first_item + half * TILE, full + 8 * s);
            }
        }
        return;
    }

    const int consumer = threadIdx.x / 128;
    const int lane = threadIdx.x % 32;
    float top[TILE / 2], bottom[TILE / 2];
    for (int step = 0; step < steps; ++step) {
        const int s = step % STAGES;
        const unsigned a = tiles + s * STAGE_BYTES;
        const unsigned long long a_tile = descriptor(a);
        const unsigned long long a_below = descriptor(a + TILE_BYTES / 2);
        const unsigned long long b_tile =
            descriptor(a + (1 + consumer) * TILE_BYTES);
        barrier_wait(full + 8 * s, step / STAGES % 2);
        products_begin();
#pragma unroll
        for (int i = 0; i < DEPTH / 16; ++i) {
            multiply(top, a_tile + 2 * i, b_tile + 2 * i, step + i);
            multiply(bottom, a_below + 2 * i, b_tile + 2 * i, step + i);
        }
        products_commit();
        products_wait<1>();
        if (step > 0 && lane == 0) barrier_arrive(empty + 8 * ((step - 1) % STAGES));
    }
    products_wait<0>();
    settle(top);
    settle(bottom);

    const size_t row = first_user + threadIdx.x % 128 / 32 * 16 + lane / 4;
    float* to = out + row * items_count + first_item + consumer * TILE + lane % 4 * 2;
    store(to, top, items_count);
    store(to + 64 * static_cast<size_t>(items_count), bottom, items_count);
}
