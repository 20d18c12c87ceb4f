// What the kernels of these tests share: mbarriers and bulk copies by tensor map, in PTX.
#pragma once
#include <cuda.h>
#include <cuda_bf16.h>
#include <stdint.h>

__device__ inline uint32_t shared_address(const void* pointer) {
    return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

__device__ inline void init_barrier(uint64_t* barrier) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(barrier)));
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

__device__ inline void expect_bytes(uint64_t* barrier, uint32_t bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(
                     shared_address(barrier)),
                 "r"(bytes)
                 : "memory");
}

__device__ inline void wait_for(uint64_t* barrier, uint32_t parity) {
    uint32_t done = 0;
    while (!done) {
        asm volatile(
            "{\n"
            ".reg .pred p;\n"
            "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
            "selp.u32 %0, 1, 0, p;\n"
            "}"
            : "=r"(done)
            : "r"(shared_address(barrier)), "r"(parity)
            : "memory");
    }
}

// One box, whose first element is at (x, y) of the map, x along the fastest dimension.
__device__ inline void load_box(void* to, const CUtensorMap& map, int x, int y,
                                uint64_t* barrier) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
        "[%0], [%1, {%2, %3}], [%4];" ::"r"(shared_address(to)),
        "l"(&map), "r"(x), "r"(y), "r"(shared_address(barrier))
        : "memory");
}

// Of a map of one dimension.
__device__ inline void load_row(void* to, const CUtensorMap& map, int x, uint64_t* barrier) {
    asm volatile(
        "cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
        "[%0], [%1, {%2}], [%3];" ::"r"(shared_address(to)),
        "l"(&map), "r"(x), "r"(shared_address(barrier))
        : "memory");
}

// The same as load_box for all blocks of the cluster that the mask names, at the same place in each.
__device__ inline void load_box_for(uint16_t mask, void* to, const CUtensorMap& map, int x, int y,
                                    uint64_t* barrier) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
        ".multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(shared_address(to)),
        "l"(&map), "r"(x), "r"(y), "r"(shared_address(barrier)), "h"(mask)
        : "memory");
}
