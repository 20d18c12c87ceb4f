// Principal components of weather maps, whole sectors stored
//
// Two warpgroups multiply tiles of 128 x 256, of which an SM holds one, so that nine warps are all
// it has. The results, 16384 products each, pass through shared memory and are stored by 16 bytes a
// thread.
//
// /// kernelprof
// kernel = "unfold"
// block = [288]
// grid = ["BLOCKS"]
// reference = "gemm_nt"
// flops = "2 * M * N * K"
// min_bytes = "2 * ((M + N) * K + M * N)"
//
// [sizes]
// M = 4224
// N = 4096
// K = 16384
// BLOCKS = 132
//
// [check]
// sizes = { M = 1408, N = 512, K = 320, BLOCKS = 5 }
//
// [[arguments]]
// name = "a"
// type = "bfloat16"
// shape = ["M", "K"]
// fill = "normal"
// passed = false
//
// [[arguments]]
// name = "b"
// type = "bfloat16"
// shape = ["N", "K"]
// fill = "normal"
// passed = false
//
// [[arguments]]
// name = "a_map"
// tensor_map = { of = "a", box = [64, 128], swizzle = "128B" }
//
// [[arguments]]
// name = "b_map"
// tensor_map = { of = "b", box = [64, 256], swizzle = "128B" }
//
// [[arguments]]
// name = "c"
// type = "bfloat16"
// shape = ["M", "N"]
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
// shared_bytes = "4 * 1024 * 48 + 64 + 8 * 2304"
// ///

#include <cuda.h>
#include <cuda_bf16.h>

constexpr int TILE_M = 128;
constexpr int TILE_N = 256;
constexpr int DEPTH = 64;  // 128 bytes
constexpr unsigned A_BYTES = TILE_M * 128;
constexpr unsigned STAGE_BYTES = A_BYTES + TILE_N * 128;
constexpr int STAGES = 4;
constexpr int TOGETHER = 11;  // rows of tiles; 12 columns of them are 132 blocks
constexpr int ROW_BYTES = 144;  // of 64 results, and 16 bytes against bank conflicts

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

// c = a b^T. Tiles go down TOGETHER rows, then to the next column.
extern "C" __global__ void __launch_bounds__(288, 1)
    unfold(const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b,
           __nv_bfloat16* __restrict__ c, int m, int n, int k) {
    extern __shared__ __align__(1024) unsigned char memory[];
    const unsigned tiles = shared_address(memory);
    const unsigned full = tiles + STAGES * STAGE_BYTES;
    const unsigned empty = full + STAGES * 8;
    const int across = n / TILE_N;
    const int count = m / TILE_M * across;
    const int steps = k / DEPTH;
    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; ++s) {
            barrier_init(full + 8 * s, 1);
            barrier_init(empty + 8 * s, 8);
        }
        publish_writes();
    }
    __syncthreads();

    if (threadIdx.x >= 256) {
        if (threadIdx.x > 256) return;
        int slot = 0;
        for (int tile = blockIdx.x; tile < count; tile += gridDim.x) {
            const int row = tile / (TOGETHER * across) * TOGETHER + tile % TOGETHER;
            const int column = tile % (TOGETHER * across) / TOGETHER;
            for (int step = 0; step < steps; ++step, ++slot) {
                const int s = slot % STAGES;
                const unsigned to = tiles + s * STAGE_BYTES;
                barrier_wait(empty + 8 * s, slot / STAGES % 2 ^ 1);
                barrier_expect(full + 8 * s, STAGE_BYTES);
                load_tile(to, a, step * DEPTH, row * TILE_M, full + 8 * s);
                load_tile(to + A_BYTES, b, step * DEPTH, column * TILE_N, full + 8 * s);
            }
        }
        return;
    }

    const int lane = threadIdx.x % 32;
    const int warp = threadIdx.x / 32;
    int slot = 0;
    for (int tile = blockIdx.x; tile < count; tile += gridDim.x) {
        float sum[TILE_N / 2];
        for (int step = 0; step < steps; ++step, ++slot) {
            const int s = slot % STAGES;
            const unsigned from = tiles + s * STAGE_BYTES;
            const unsigned long long a_tile = descriptor(from + warp / 4 * 64 * 128);
            const unsigned long long b_tile = descriptor(from + A_BYTES);
            barrier_wait(full + 8 * s, slot / STAGES % 2);
            products_begin();
#pragma unroll
            for (int i = 0; i < 4; ++i) multiply(sum, a_tile + 2 * i, b_tile + 2 * i, step + i);
            products_commit();
            products_wait<1>();
            if (step > 0 && lane == 0) barrier_arrive(empty + 8 * ((slot - 1) % STAGES));
        }
        products_wait<0>();
        if (lane == 0) barrier_arrive(empty + 8 * ((slot - 1) % STAGES));
        settle(sum);

        const int row = tile / (TOGETHER * across) * TOGETHER + tile % TOGETHER;
        const int column = tile % (TOGETHER * across) / TOGETHER;
        const size_t first = row * TILE_M + warp * 16;
        __nv_bfloat16* to = c + first * n + column * TILE_N;
        unsigned char* own = memory + STAGES * STAGE_BYTES + 64 + warp * 16 * ROW_BYTES;
#pragma unroll
        for (int part = 0; part < 4; ++part) {
#pragma unroll
            for (int j = 0; j < 8; ++j) {
                const float* four = sum + part * 32 + 4 * j;
                unsigned char* at = own + lane / 4 * ROW_BYTES + j * 16 + lane % 4 * 4;
                *reinterpret_cast<__nv_bfloat162*>(at) = __floats2bfloat162_rn(four[0], four[1]);
                *reinterpret_cast<__nv_bfloat162*>(at + 8 * ROW_BYTES) =
                    __floats2bfloat162_rn(four[2], four[3]);
            }
            __syncwarp();
#pragma unroll
            for (int i = lane / 8; i < 16; i += 4) {
                *reinterpret_cast<uint4*>(to + i * static_cast<size_t>(n) + part * 64 +
                                          lane % 8 * 8) =
                    *reinterpret_cast<const uint4*>(own + i * ROW_BYTES + lane % 8 * 16);
            }
            __syncwarp();
        }
    }
}
