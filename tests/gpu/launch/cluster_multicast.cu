// /// kernelprof
// kernel = "spread"
// block = [128]
// grid = ["2 * rows"]
// reference = "cluster_multicast:spread"
//
// [sizes]
// rows = 4096
//
// [check]
// sizes = { rows = 12 }
//
// [launch]
// cluster = [2]
//
// [[arguments]]
// name = "map_x"
// tensor_map = { of = "x", box = [256, 1] }
//
// [[arguments]]
// name = "y"
// type = "float32"
// shape = ["2 * rows", 512]
// output = true
//
// [[arguments]]
// name = "x"
// type = "float32"
// shape = ["rows", 512]
// passed = false
// ///
#include "tma.cuh"

// Both blocks of a cluster get one row: each loads a half of it for both.
__global__ void spread(const __grid_constant__ CUtensorMap map_x, float* y) {
    __shared__ alignas(128) float row[512];
    __shared__ uint64_t barrier;
    uint32_t rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    if (threadIdx.x == 0) {
        init_barrier(&barrier);
        expect_bytes(&barrier, sizeof(row));
    }
    asm volatile(
        "barrier.cluster.arrive.release.aligned;\n"
        "barrier.cluster.wait.acquire.aligned;" ::: "memory");
    if (threadIdx.x == 0) {
        load_box_for(0b11, row + 256 * rank, map_x, 256 * rank, blockIdx.x / 2, &barrier);
    }
    wait_for(&barrier, 0);
    for (int i = threadIdx.x; i < 512; i += blockDim.x) {
        y[blockIdx.x * 512 + i] = row[i];
    }
    // No block may end while the other one still writes into it.
    asm volatile(
        "barrier.cluster.arrive.release.aligned;\n"
        "barrier.cluster.wait.acquire.aligned;" ::: "memory");
}
