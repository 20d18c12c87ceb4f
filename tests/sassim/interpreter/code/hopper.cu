// Copies by tensor maps and products of a warpgroup, in every form. Shared memory is an array of
// bytes that comes from global memory or goes there, as it is.
#include <cuda.h>
#include <cstdint>

extern __shared__ __align__(1024) uint32_t bytes[];

__device__ uint32_t shared(const void* at) { return static_cast<uint32_t>(__cvta_generic_to_shared(at)); }

__device__ void fill(const uint32_t* from, int words) {
    for (int i = threadIdx.x; i < words; i += blockDim.x) bytes[i] = from[i];
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
}

__device__ void wait(uint32_t barrier, uint32_t parity) {
    asm volatile(
        "{.reg .pred done; WAIT: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;"
        "@!done bra WAIT;}" ::"r"(barrier), "r"(parity) : "memory");
}

#define LOAD(dims, coordinates)                                                                    \
    extern "C" __global__ void load_##dims##d(const __grid_constant__ CUtensorMap map,             \
                                              uint32_t* out, int words, int a, int b, int c,       \
                                              int d, int e) {                                      \
        __shared__ uint64_t arrived;                                                               \
        const uint32_t barrier = shared(&arrived);                                                 \
        for (int i = threadIdx.x; i < words; i += blockDim.x) bytes[i] = 0xdddddddd;               \
        if (threadIdx.x == 0)                                                                      \
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barrier));                 \
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");                               \
        __syncthreads();                                                                           \
        if (threadIdx.x == 0) {                                                                    \
            asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier),  \
                         "r"(4 * words) : "memory");                                               \
            asm volatile("cp.async.bulk.tensor." #dims                                             \
                         "d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"              \
                         " [%0], [%1, " coordinates "], [%2];" ::"r"(shared(bytes)), "l"(&map),    \
                         "r"(barrier), "r"(a), "r"(b), "r"(c), "r"(d), "r"(e) : "memory");         \
        }                                                                                          \
        wait(barrier, 0);                                                                          \
        for (int i = threadIdx.x; i < words; i += blockDim.x) out[i] = bytes[i];                   \
    }
LOAD(1, "{%3}")
LOAD(2, "{%3, %4}")
LOAD(3, "{%3, %4, %5}")
LOAD(4, "{%3, %4, %5, %6}")
LOAD(5, "{%3, %4, %5, %6, %7}")

#define STORE(name, instruction)                                                                   \
    extern "C" __global__ void name(const __grid_constant__ CUtensorMap map, const uint32_t* from, \
                                    int words, int x, int y) {                                     \
        fill(from, words);                                                                         \
        if (threadIdx.x == 0) {                                                                    \
            asm volatile(instruction " [%0, {%2, %3}], [%1];" ::"l"(&map), "r"(shared(bytes)),     \
                         "r"(x), "r"(y) : "memory");                                               \
            asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;" ::: "memory");  \
        }                                                                                          \
    }
STORE(store_2d, "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group")
STORE(add_2d, "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group")
STORE(min_2d, "cp.reduce.async.bulk.tensor.2d.global.shared::cta.min.tile.bulk_group")
STORE(max_2d, "cp.reduce.async.bulk.tensor.2d.global.shared::cta.max.tile.bulk_group")
STORE(xor_2d, "cp.reduce.async.bulk.tensor.2d.global.shared::cta.xor.tile.bulk_group")
STORE(inc_2d, "cp.reduce.async.bulk.tensor.2d.global.shared::cta.inc.tile.bulk_group")
STORE(dec_2d, "cp.reduce.async.bulk.tensor.2d.global.shared::cta.dec.tile.bulk_group")

// Each block loads half of a box for both, and adds what it has in shared memory of the other.
extern "C" __global__ void __cluster_dims__(2, 1, 1)
multicast(const __grid_constant__ CUtensorMap map, uint32_t* out, int words, int x, int y) {
    __shared__ uint64_t arrived;
    const uint32_t barrier = shared(&arrived);
    uint32_t rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barrier));
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier),
                     "r"(8 * words) : "memory");
    }
    asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
    if (threadIdx.x == 0) {
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
                     ".multicast::cluster [%0], [%1, {%3, %4}], [%2], %5;" ::
                     "r"(shared(bytes + rank * words)), "l"(&map), "r"(barrier), "r"(x),
                     "r"(y + static_cast<int>(rank)), "h"(static_cast<uint16_t>(3)) : "memory");
    }
    wait(barrier, 0);
    uint32_t there;
    for (int i = threadIdx.x; i < 2 * words; i += blockDim.x) {
        asm volatile("{.reg .u32 at; mapa.shared::cluster.u32 at, %1, %2;"
                     "ld.shared::cluster.u32 %0, [at];}" : "=r"(there) : "r"(shared(bytes + i)), "r"(rank ^ 1));
        out[(2 * rank) * words + i] = bytes[i] + there;
    }
    asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
}

#define BEGIN asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#define END                                                                                        \
    asm volatile("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;" ::: "memory");

// Columns: 16. Each thread has 8 sums, or 4 registers of two.
#define PRODUCT(name, type, flags)                                                                 \
    extern "C" __global__ void name(const uint32_t* from, int words, uint64_t a, uint64_t b,       \
                                    int add, uint32_t* d) {                                        \
        fill(from, words);                                                                         \
        uint32_t s[8];                                                                             \
        for (int i = 0; i < 8; ++i) s[i] = d[threadIdx.x * 8 + i];                                 \
        a += shared(bytes) >> 4;                                                                   \
        b += shared(bytes) >> 4;                                                                   \
        BEGIN asm volatile("{.reg .pred p; setp.ne.b32 p, %10, 0; wgmma.mma_async.sync.aligned." type \
                     " {%0, %1, %2, %3, %4, %5, %6, %7}, %8, %9, p" flags ";}"                     \
                     : "+r"(s[0]), "+r"(s[1]), "+r"(s[2]), "+r"(s[3]), "+r"(s[4]), "+r"(s[5]),     \
                       "+r"(s[6]), "+r"(s[7]) : "l"(a), "l"(b), "r"(add));                         \
        END for (int i = 0; i < 8; ++i) d[threadIdx.x * 8 + i] = s[i];                             \
    }
#define PRODUCT_HALVES(name, type, flags)                                                          \
    extern "C" __global__ void name(const uint32_t* from, int words, uint64_t a, uint64_t b,       \
                                    int add, uint32_t* d) {                                        \
        fill(from, words);                                                                         \
        uint32_t s[4];                                                                             \
        for (int i = 0; i < 4; ++i) s[i] = d[threadIdx.x * 4 + i];                                 \
        a += shared(bytes) >> 4;                                                                   \
        b += shared(bytes) >> 4;                                                                   \
        BEGIN asm volatile("{.reg .pred p; setp.ne.b32 p, %6, 0; wgmma.mma_async.sync.aligned." type \
                     " {%0, %1, %2, %3}, %4, %5, p" flags ";}"                                     \
                     : "+r"(s[0]), "+r"(s[1]), "+r"(s[2]), "+r"(s[3]) : "l"(a), "l"(b), "r"(add)); \
        END for (int i = 0; i < 4; ++i) d[threadIdx.x * 4 + i] = s[i];                             \
    }
#define PRODUCT_REGISTERS(name, type, flags)                                                       \
    extern "C" __global__ void name(const uint32_t* from, int words, const uint32_t* left,         \
                                    uint64_t b, int add, uint32_t* d) {                            \
        fill(from, words);                                                                         \
        uint32_t s[8], r[4];                                                                       \
        for (int i = 0; i < 8; ++i) s[i] = d[threadIdx.x * 8 + i];                                 \
        for (int i = 0; i < 4; ++i) r[i] = left[threadIdx.x * 4 + i];                              \
        b += shared(bytes) >> 4;                                                                   \
        BEGIN asm volatile("{.reg .pred p; setp.ne.b32 p, %13, 0; wgmma.mma_async.sync.aligned." type \
                     " {%0, %1, %2, %3, %4, %5, %6, %7}, {%8, %9, %10, %11}, %12, p" flags ";}"    \
                     : "+r"(s[0]), "+r"(s[1]), "+r"(s[2]), "+r"(s[3]), "+r"(s[4]), "+r"(s[5]),     \
                       "+r"(s[6]), "+r"(s[7])                                                      \
                     : "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]), "l"(b), "r"(add));              \
        END for (int i = 0; i < 8; ++i) d[threadIdx.x * 8 + i] = s[i];                             \
    }
#define FLOATS(name, type, flags)                                                                  \
    extern "C" __global__ void name(const uint32_t* from, int words, uint64_t a, uint64_t b,       \
                                    int add, float* d) {                                           \
        fill(from, words);                                                                         \
        float s[8];                                                                                \
        for (int i = 0; i < 8; ++i) s[i] = d[threadIdx.x * 8 + i];                                 \
        a += shared(bytes) >> 4;                                                                   \
        b += shared(bytes) >> 4;                                                                   \
        BEGIN asm volatile("{.reg .pred p; setp.ne.b32 p, %10, 0; wgmma.mma_async.sync.aligned." type \
                     " {%0, %1, %2, %3, %4, %5, %6, %7}, %8, %9, p" flags ";}"                     \
                     : "+f"(s[0]), "+f"(s[1]), "+f"(s[2]), "+f"(s[3]), "+f"(s[4]), "+f"(s[5]),     \
                       "+f"(s[6]), "+f"(s[7]) : "l"(a), "l"(b), "r"(add));                         \
        END for (int i = 0; i < 8; ++i) d[threadIdx.x * 8 + i] = s[i];                             \
    }
#define FLOATS_REGISTERS(name, type, flags)                                                        \
    extern "C" __global__ void name(const uint32_t* from, int words, const uint32_t* left,         \
                                    uint64_t b, int add, float* d) {                               \
        fill(from, words);                                                                         \
        float s[8];                                                                                \
        uint32_t r[4];                                                                             \
        for (int i = 0; i < 8; ++i) s[i] = d[threadIdx.x * 8 + i];                                 \
        for (int i = 0; i < 4; ++i) r[i] = left[threadIdx.x * 4 + i];                              \
        b += shared(bytes) >> 4;                                                                   \
        BEGIN asm volatile("{.reg .pred p; setp.ne.b32 p, %13, 0; wgmma.mma_async.sync.aligned." type \
                     " {%0, %1, %2, %3, %4, %5, %6, %7}, {%8, %9, %10, %11}, %12, p" flags ";}"    \
                     : "+f"(s[0]), "+f"(s[1]), "+f"(s[2]), "+f"(s[3]), "+f"(s[4]), "+f"(s[5]),     \
                       "+f"(s[6]), "+f"(s[7])                                                      \
                     : "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]), "l"(b), "r"(add));              \
        END for (int i = 0; i < 8; ++i) d[threadIdx.x * 8 + i] = s[i];                             \
    }

FLOATS(bf16, "m64n16k16.f32.bf16.bf16", ", 1, 1, 0, 0")
FLOATS(bf16_less_a, "m64n16k16.f32.bf16.bf16", ", -1, 1, 0, 0")
FLOATS(bf16_less_b, "m64n16k16.f32.bf16.bf16", ", 1, -1, 0, 0")
FLOATS(bf16_across_a, "m64n16k16.f32.bf16.bf16", ", 1, 1, 1, 0")
FLOATS(bf16_across_b, "m64n16k16.f32.bf16.bf16", ", 1, 1, 0, 1")
FLOATS(f16_across, "m64n16k16.f32.f16.f16", ", 1, 1, 1, 1")
FLOATS(tf32, "m64n16k8.f32.tf32.tf32", ", 1, 1")
FLOATS(e4m3_e5m2, "m64n16k32.f32.e4m3.e5m2", ", 1, 1")
PRODUCT_HALVES(f16_in_halves, "m64n16k16.f16.f16.f16", ", 1, 1, 0, 0")
PRODUCT_HALVES(e5m2_in_halves, "m64n16k32.f16.e5m2.e5m2", ", 1, 1")
PRODUCT(s8_u8, "m64n16k32.s32.s8.u8", "")
PRODUCT(u8_u8_limited, "m64n16k32.s32.u8.u8.satfinite", "")
PRODUCT(b1, "m64n16k256.s32.b1.b1.and.popc", "")
FLOATS_REGISTERS(bf16_registers, "m64n16k16.f32.bf16.bf16", ", 1, 1, 1")
FLOATS_REGISTERS(tf32_registers, "m64n16k8.f32.tf32.tf32", ", -1, 1")
PRODUCT_REGISTERS(s8_registers, "m64n16k32.s32.s8.s8", "")
