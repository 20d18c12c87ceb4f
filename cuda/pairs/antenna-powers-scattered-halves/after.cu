// Powers of antennas in frames, stored frame by frame
//
// A warp stores 32 neighbours. Device memory is as busy as before.
//
// /// kernelprof
// kernel = "powers"
// block = [256]
// grid = ["FRAMES"]
// reference = "reference:powers_by_frame"
// min_bytes = "32 * FRAMES * (1024 + 2)"
//
// [sizes]
// FRAMES = 16896
//
// [check]
// sizes = { FRAMES = 256 }
// tolerance = 5e-3
//
// [compile]
// standard = "c++17"
// flags = ["-O3"]
//
// [[arguments]]
// name = "map"
// tensor_map = { of = "samples", box = [256, 32] }
//
// [[arguments]]
// name = "samples"
// type = "float32"
// shape = ["32 * FRAMES", 256]
// passed = false
//
// [[arguments]]
// name = "out"
// type = "bfloat16"
// shape = ["FRAMES", 32]
// output = true
// ///

#include <cuda.h>
#include <cuda_bf16.h>

#include <cstdint>

constexpr int ANTENNAS = 32;
constexpr int SAMPLES = 256;  // of an antenna in a frame
constexpr unsigned BYTES = 4 * ANTENNAS * SAMPLES;

__device__ unsigned shared_address(const void* pointer) {
    return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

// A barrier that one arrival and the bytes it announces complete.
__device__ void barrier_init(uint64_t* barrier) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;\n"
                 "fence.proxy.async.shared::cta;" ::"r"(shared_address(barrier))
                 : "memory");
}

__device__ void barrier_expect(uint64_t* barrier, unsigned bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(
                     shared_address(barrier)),
                 "r"(bytes)
                 : "memory");
}

__device__ void barrier_wait(uint64_t* barrier, unsigned parity) {
    asm volatile(
        "{\n"
        ".reg .pred done;\n"
        "again:\n"
        "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
        "@!done bra again;\n"
        "}" ::"r"(shared_address(barrier)),
        "r"(parity)
        : "memory");
}

// A box of the map whose first element is (x, y).
__device__ void copy_tile(void* to, const CUtensorMap* map, int x, int y, uint64_t* barrier) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
        "[%0], [%1, {%2, %3}], [%4];" ::"r"(shared_address(to)),
        "l"(map), "r"(x), "r"(y), "r"(shared_address(barrier))
        : "memory");
}

// The power of each antenna in a frame; a block has a frame, and all of its powers lie together.
extern "C" __global__ void __launch_bounds__(256)
    powers(const __grid_constant__ CUtensorMap map, __nv_bfloat16* __restrict__ out) {
    __shared__ __align__(128) float4 tile[ANTENNAS][SAMPLES / 4];
    __shared__ float sums[ANTENNAS];
    __shared__ uint64_t full;
    if (threadIdx.x == 0) {
        barrier_init(&full);
        barrier_expect(&full, BYTES);
        copy_tile(tile, &map, 0, blockIdx.x * ANTENNAS, &full);
    }
    __syncthreads();
    barrier_wait(&full, 0);
    const int warp = threadIdx.x / 32;
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int antenna = warp; antenna < ANTENNAS; antenna += 8) {
        const float4 a = tile[antenna][lane];
        const float4 b = tile[antenna][lane + 32];
        float sum = (a.x * a.x + a.y * a.y) + (a.z * a.z + a.w * a.w);
        sum += (b.x * b.x + b.y * b.y) + (b.z * b.z + b.w * b.w);
#pragma unroll
        for (int other = 16; other > 0; other /= 2) sum += __shfl_xor_sync(~0u, sum, other);
        if (lane == 0) sums[antenna] = sum;
    }
    __syncthreads();
    if (warp == 0) {
        out[static_cast<size_t>(blockIdx.x) * ANTENNAS + lane] = __float2bfloat16(sums[lane]);
    }
}
