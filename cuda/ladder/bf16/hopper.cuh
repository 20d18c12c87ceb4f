// PTX of Hopper that CUDA C++ has no words for: mbarriers, tensor copies, warpgroup products.
//
// Tiles are K-major: a row has 64 values (128 bytes) and lies in shared memory as TMA's 128-byte
// swizzle puts it; tiles start at multiples of 1024 bytes. PTX ISA 8.0, "Asynchronous Warpgroup
// Level Matrix Instructions" and "cp.async.bulk.tensor".
#pragma once

#include <cuda.h>
#include <cuda_bf16.h>

#include <cstdint>

constexpr int BK = 64;            // values of a row of a tile: one span of the swizzle
constexpr int WARPGROUP = 128;    // threads that issue a product together
constexpr int TILE_ALIGNMENT = 1024;

__device__ __forceinline__ uint32_t shared_address(const void* pointer) {
    return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

// ---- mbarriers: addresses are of shared memory

__device__ __forceinline__ void barrier_init(uint32_t barrier, int arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals));
}

// Makes initialised barriers visible to the copy engine and to the other blocks of a cluster.
__device__ __forceinline__ void fence_barrier_init() {
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

__device__ __forceinline__ void barrier_arrive(uint32_t barrier) {
    asm volatile("mbarrier.arrive.release.cta.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

// Arrives, and lets the phase wait for so many bytes of copies as well.
__device__ __forceinline__ void barrier_expect(uint32_t barrier, int bytes) {
    asm volatile(
        "mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%0], %1;" ::"r"(barrier),
        "r"(bytes)
        : "memory");
}

// Arrives at the barrier that lies at the same place in a block of the cluster.
__device__ __forceinline__ void barrier_arrive_at(uint32_t barrier, uint32_t block) {
    asm volatile(
        "{.reg .b32 there; mapa.shared::cluster.u32 there, %0, %1;"
        "mbarrier.arrive.shared::cluster.b64 _, [there];}" ::"r"(barrier),
        "r"(block)
        : "memory");
}

__device__ __forceinline__ void barrier_wait(uint32_t barrier, uint32_t parity) {
    asm volatile(
        "{.reg .pred done;"
        "WAIT: mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 done, [%0], %1;"
        "@done bra DONE;"
        "bra WAIT;"
        "DONE:}" ::"r"(barrier),
        "r"(parity)
        : "memory");
}

// ---- clusters

__device__ __forceinline__ uint32_t block_in_cluster() {
    uint32_t rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}

__device__ __forceinline__ void cluster_sync() {
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

// ---- tensor copies (TMA): x is the column, y the row of the tile's first value

__device__ __forceinline__ void copy_tile(uint32_t to, const CUtensorMap* from, int x, int y,
                                          uint32_t barrier) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
        " [%0], [%1, {%3, %4}], [%2];" ::"r"(to),
        "l"(from), "r"(barrier), "r"(x), "r"(y)
        : "memory");
}

// The same tile, and the arrival of its bytes, for each block of the cluster that has a bit in
// `blocks`.
__device__ __forceinline__ void copy_tile_to(uint16_t blocks, uint32_t to, const CUtensorMap* from,
                                             int x, int y, uint32_t barrier) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
        ".multicast::cluster [%0], [%1, {%3, %4}], [%2], %5;" ::"r"(to),
        "l"(from), "r"(barrier), "r"(x), "r"(y), "h"(blocks)
        : "memory");
}

__device__ __forceinline__ void store_tile(const CUtensorMap* to, uint32_t from, int x, int y) {
    asm volatile(
        "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%2, %3}], [%1];" ::
            "l"(to), "r"(from), "r"(x), "r"(y)
        : "memory");
}

__device__ __forceinline__ void commit_stores() {
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

// Waits until all but the last N groups of stores have read their shared memory.
template <int N>
__device__ __forceinline__ void wait_stores_read() {
    asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(N) : "memory");
}

// Makes what threads wrote to shared memory visible to the copy engine.
__device__ __forceinline__ void fence_shared_for_copies() {
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// ---- products of a warpgroup (wgmma)

// How a tile lies in shared memory: 128-byte swizzle, groups of 8 rows 1024 bytes apart.
__device__ __forceinline__ uint64_t tile_descriptor(uint32_t address) {
    constexpr uint64_t SWIZZLE_128B = 1ull << 62;
    constexpr uint64_t STRIDE = (1024ull >> 4) << 32;
    constexpr uint64_t LEADING = 1ull << 16;  // of no meaning here
    return SWIZZLE_128B | STRIDE | LEADING | ((address & 0x3FFFF) >> 4);
}

constexpr int NEXT_K16 = 32 >> 4;  // added to a descriptor: 16 values further along K

__device__ __forceinline__ void products_begin() {
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

__device__ __forceinline__ void products_commit() {
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

// Waits until all but the last N groups of products are done.
template <int N>
__device__ __forceinline__ void products_wait() {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory");
}

template <int REGISTERS>
__device__ __forceinline__ void take_registers() {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(REGISTERS));
}

template <int REGISTERS>
__device__ __forceinline__ void give_registers() {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(REGISTERS));
}

#define ACCUMULATORS_16(d, i) \
    "+f"(d[(i) + 0]), "+f"(d[(i) + 1]), "+f"(d[(i) + 2]), "+f"(d[(i) + 3]), "+f"(d[(i) + \
    4]), "+f"(d[(i) + 5]), "+f"(d[(i) + 6]), "+f"(d[(i) + 7]), "+f"(d[(i) + 8]), \
    "+f"(d[(i) + 9]), "+f"(d[(i) + 10]), "+f"(d[(i) + 11]), "+f"(d[(i) + 12]), \
    "+f"(d[(i) + 13]), "+f"(d[(i) + 14]), "+f"(d[(i) + 15])

// d[64, 64] = a[64, 16] * b[64, 16]^T, plus d where `add` is not 0; of a warpgroup.
__device__ __forceinline__ void multiply_64(float (&d)[32], uint64_t a, uint64_t b, int add) {
    asm volatile(
        "{.reg .pred p; setp.ne.b32 p, %34, 0;"
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, "
        "%14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, "
        "%28, %29, %30, %31}, "
        "%32, %33, p, 1, 1, 0, 0;}"
        :
          ACCUMULATORS_16(d, 0),
          ACCUMULATORS_16(d, 16)
        : "l"(a), "l"(b), "r"(add));
}

// d[64, 128] = a[64, 16] * b[128, 16]^T, plus d where `add` is not 0; of a warpgroup.
__device__ __forceinline__ void multiply_128(float (&d)[64], uint64_t a, uint64_t b, int add) {
    asm volatile(
        "{.reg .pred p; setp.ne.b32 p, %66, 0;"
        "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, "
        "%14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, "
        "%28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, "
        "%42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, "
        "%56, %57, %58, %59, %60, %61, %62, %63}, "
        "%64, %65, p, 1, 1, 0, 0;}"
        :
          ACCUMULATORS_16(d, 0),
          ACCUMULATORS_16(d, 16),
          ACCUMULATORS_16(d, 32),
          ACCUMULATORS_16(d, 48)
        : "l"(a), "l"(b), "r"(add));
}

// d[64, 256] = a[64, 16] * b[256, 16]^T, plus d where `add` is not 0; of a warpgroup.
__device__ __forceinline__ void multiply_256(float (&d)[128], uint64_t a, uint64_t b, int add) {
    asm volatile(
        "{.reg .pred p; setp.ne.b32 p, %130, 0;"
        "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, "
        "%14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, "
        "%28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, "
        "%42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, "
        "%56, %57, %58, %59, %60, %61, %62, %63, %64, %65, %66, %67, %68, %69, "
        "%70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, "
        "%84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, %96, %97, "
        "%98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, "
        "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, "
        "%126, %127}, "
        "%128, %129, p, 1, 1, 0, 0;}"
        :
          ACCUMULATORS_16(d, 0),
          ACCUMULATORS_16(d, 16),
          ACCUMULATORS_16(d, 32),
          ACCUMULATORS_16(d, 48),
          ACCUMULATORS_16(d, 64),
          ACCUMULATORS_16(d, 80),
          ACCUMULATORS_16(d, 96),
          ACCUMULATORS_16(d, 112)
        : "l"(a), "l"(b), "r"(add));
}

#undef ACCUMULATORS_16
