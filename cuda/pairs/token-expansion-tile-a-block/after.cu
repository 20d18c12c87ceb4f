// An expanding layer for 1280 tokens, the last eight tiles dealt to 132 blocks
//
// Each of 132 blocks multiplies one tile of 128 x 256, and then an equal part of the steps of the
// eight tiles that are left, to whose sums in memory seventeen blocks add.
//
// /// kernelprof
// kernel = "expand"
// block = [288]
// grid = ["BLOCKS"]
// reference = "gemm_nt"
// flops = "2 * M * N * K"
// min_bytes = "2 * (M + N) * K + 4 * M * N"
//
// [sizes]
// M = 1280
// N = 3584
// K = 8192
// BLOCKS = 132
//
// [check]
// sizes = { M = 256, N = 768, K = 576, BLOCKS = 4 }
//
// [[arguments]]
// name = "tokens"
// type = "bfloat16"
// shape = ["M", "K"]
// fill = "normal"
// passed = false
//
// [[arguments]]
// name = "weights"
// type = "bfloat16"
// shape = ["N", "K"]
// fill = "normal"
// passed = false
//
// [[arguments]]
// name = "tokens_map"
// tensor_map = { of = "tokens", box = [64, 128], swizzle = "128B" }
//
// [[arguments]]
// name = "weights_map"
// tensor_map = { of = "weights", box = [64, 256], swizzle = "128B" }
//
// [[arguments]]
// name = "out"
// type = "float32"
// shape = ["M", "N"]
// fill = "zeros"
// output = true
//
// [[arguments]]
// name = "m"
// type = "int32"
// value = "M"
//
// [[arguments]]
// name = "n"
// type = "int32"
// value = "N"
//
// [[arguments]]
// name = "k"
// type = "int32"
// value = "K"
//
// [compile]
// flags = ["-O3"]
// standard = "c++17"
//
// [launch]
// shared_bytes = "4 * 1024 * 48 + 64"
// ///

#include <cuda.h>

constexpr int TILE_M = 128;
constexpr int TILE_N = 256;
constexpr int DEPTH = 64;
constexpr unsigned A_BYTES = TILE_M * DEPTH * 2;
constexpr unsigned STAGE_BYTES = A_BYTES + TILE_N * DEPTH * 2;
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

// d = a b + d, or a b where `keep` is 0: 64 x 256 from 64 x 16 and 16 x 256 in shared memory.
__device__ __forceinline__ void multiply(float (&d)[128], unsigned long long a,
                                         unsigned long long b, int keep) {
    asm volatile(
        "{.reg .pred more; setp.ne.b32 more, %130, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, "
        "%18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, "
        "%34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, "
        "%50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, %64, %65, "
        "%66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, "
        "%82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, %96, %97, "
        "%98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, "
        "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, "
        "%126, %127"
        "}, %128, %129, more, 1, 1, 0, 0;}\n"
        : SIXTY_FOUR(d, 0), SIXTY_FOUR(d, 64)
        : "l"(a), "l"(b), "r"(keep));
}

// out = tokens weights^T.
extern "C" __global__ void __launch_bounds__(288, 1)
    expand(const __grid_constant__ CUtensorMap tokens, const __grid_constant__ CUtensorMap weights,
           float* __restrict__ out, int m, int n, int k) {
    extern __shared__ __align__(1024) unsigned char memory[];
    const unsigned tiles = shared_address(memory);
    const unsigned full = tiles + STAGES * STAGE_BYTES;
    const unsigned empty = full + STAGES * 8;
    const int across = n / TILE_N;
    const int steps = k / DEPTH;
    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; ++s) {
            barrier_init(full + 8 * s, 1);
            barrier_init(empty + 8 * s, 8);
        }
        publish_writes();
    }
    __syncthreads();

    // A tile of its own, and an equal part of the steps of those that are left.
    const int block = blockIdx.x;
    const int blocks = gridDim.x;
    const int rest = (m / TILE_M * across - blocks) * steps;
    const int from = rest * block / blocks;
    const int count = steps + rest * (block + 1) / blocks - from;
    const auto global = [=](int i) {
        return i < steps ? block * steps + i : (blocks - 1) * steps + from + i;
    };
    if (threadIdx.x >= 256) {
        if (threadIdx.x > 256) return;
        for (int i = 0; i < count; ++i) {
            const int tile = global(i) / steps;
            const int depth = global(i) % steps * DEPTH;
            const int s = i % STAGES;
            const unsigned a = tiles + s * STAGE_BYTES;
            barrier_wait(empty + 8 * s, i / STAGES % 2 ^ 1);
            barrier_expect(full + 8 * s, STAGE_BYTES);
            load_tile(a, tokens, depth, tile / across * TILE_M, full + 8 * s);
            load_tile(a + A_BYTES, weights, depth, tile % across * TILE_N, full + 8 * s);
        }
        return;
    }

    const int lane = threadIdx.x % 32;
    const int group = threadIdx.x / 128;
    for (int i = 0; i < count;) {
        const int tile = global(i) / steps;
        const int begin = i;
        const int end = min(count, begin + (tile + 1) * steps - global(begin));
        float sum[TILE_N / 2];
        for (; i < end; ++i) {
            const int s = i % STAGES;
            const unsigned a = tiles + s * STAGE_BYTES;
            const unsigned long long a_tile = descriptor(a + group * 64 * DEPTH * 2);
            const unsigned long long b_tile = descriptor(a + A_BYTES);
            barrier_wait(full + 8 * s, i / STAGES % 2);
            products_begin();
#pragma unroll
            for (int j = 0; j < DEPTH / 16; ++j) {
                multiply(sum, a_tile + 2 * j, b_tile + 2 * j, i - begin + j);
            }
            products_commit();
            products_wait<1>();
            if (i > begin && lane == 0) barrier_arrive(empty + 8 * ((i - 1) % STAGES));
        }
        products_wait<0>();
        if (lane == 0) barrier_arrive(empty + 8 * ((i - 1) % STAGES));
        settle(sum);

        const int row = tile / across * TILE_M + threadIdx.x / 32 * 16 + lane / 4;
        float* to = out + static_cast<size_t>(row) * n + tile % across * TILE_N + lane % 4 * 2;
#pragma unroll
        for (int j = 0; j < TILE_N / 8; ++j) {
            atomicAdd(reinterpret_cast<float2*>(to + j * 8),
                      make_float2(sum[4 * j], sum[4 * j + 1]));
            atomicAdd(reinterpret_cast<float2*>(to + 8 * static_cast<size_t>(n) + j * 8),
                      make_float2(sum[4 * j + 2], sum[4 * j + 3]));
        }
    }
}
