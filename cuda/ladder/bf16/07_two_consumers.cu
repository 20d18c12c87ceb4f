// Two consumers
//
// Changes: 128 x 256 outputs a block, which two warpgroups share; the producer gives registers away
// to them (setmaxnreg).
// Before: async-pipeline-stalls: the tensor pipe is 59 % busy, and its one consumer spends 31 % of
// its time in barriers and instructions between the products; beside that L2 is 88 % busy, and
// wider tiles ask it for less.
// Sizes: M must be a multiple of 128, N of 256, K of 64.
//
// /// kernelprof
// kernel = "bf16_two_consumers"
// block = [384]
// grid = ["N // 256", "M // 128"]
// reference = "gemm_nt"
// flops = "2 * M * N * K"
// min_bytes = "2 * (M * K + N * K + M * N)"
//
// [sizes]
// M = 8192
// N = 8192
// K = 8192
//
// [check]
// sizes = { M = 256, N = 512, K = 448 }
//
// [[arguments]]
// name = "A"
// type = "bfloat16"
// shape = ["M", "K"]
// fill = "normal"
// passed = false
//
// [[arguments]]
// name = "B"
// type = "bfloat16"
// shape = ["N", "K"]
// fill = "normal"
// passed = false
//
// [[arguments]]
// name = "C"
// type = "bfloat16"
// shape = ["M", "N"]
// output = true
//
// [[arguments]]
// name = "map_a"
// tensor_map = { of = "A", box = [64, 128], swizzle = "128B" }
//
// [[arguments]]
// name = "map_b"
// tensor_map = { of = "B", box = [64, 256], swizzle = "128B" }
//
// [[arguments]]
// name = "M"
// type = "int32"
// value = "M"
//
// [[arguments]]
// name = "N"
// type = "int32"
// value = "N"
//
// [[arguments]]
// name = "K"
// type = "int32"
// value = "K"
//
// [compile]
// flags = ["-O3"]
// standard = "c++17"
// defines = { STAGES = 4 }
//
// [launch]
// shared_bytes = "STAGES * 49152"
// warmup = 5
// measured = 20
// ///

#include <cuda/barrier>

#include "hopper.cuh"

using Barrier = cuda::barrier<cuda::thread_scope_block>;

constexpr int BM = 128;
constexpr int BN = 256;
constexpr int CONSUMERS = 2;
constexpr int A_BYTES = BM * BK * 2;
constexpr int B_BYTES = BN * BK * 2;
constexpr int STAGE_BYTES = A_BYTES + B_BYTES;

extern "C" __global__ void __launch_bounds__((1 + CONSUMERS) * WARPGROUP, 1)
bf16_two_consumers(__nv_bfloat16* __restrict__ C, const __grid_constant__ CUtensorMap map_a,
                   const __grid_constant__ CUtensorMap map_b, int M, int N, int K) {
    extern __shared__ __align__(TILE_ALIGNMENT) uint8_t ring[];
    #pragma nv_diag_suppress static_var_with_dynamic_init
    __shared__ Barrier full[STAGES];
    __shared__ Barrier empty[STAGES];
    const int row0 = blockIdx.y * BM;
    const int col0 = blockIdx.x * BN;
    const int steps = K / BK;

    if (threadIdx.x == 0) {
        for (int stage = 0; stage < STAGES; ++stage) {
            init(&full[stage], CONSUMERS * WARPGROUP + 1);
            init(&empty[stage], CONSUMERS * WARPGROUP + 1);
        }
        cuda::device::experimental::fence_proxy_async_shared_cta();
    }
    __syncthreads();

    if (threadIdx.x < WARPGROUP) {
        give_registers<24>();
        if (threadIdx.x == 0) {
            for (int step = 0; step < steps; ++step) {
                const int stage = step % STAGES;
                empty[stage].wait(empty[stage].arrive());
                const uint32_t at = shared_address(ring) + stage * STAGE_BYTES;
                const uint32_t barrier =
                    shared_address(cuda::device::barrier_native_handle(full[stage]));
                copy_tile(at, &map_a, step * BK, row0, barrier);
                copy_tile(at + A_BYTES, &map_b, step * BK, col0, barrier);
                (void)cuda::device::barrier_arrive_tx(full[stage], 1, STAGE_BYTES);
            }
        }
    } else {
        take_registers<240>();
        const int consumer = threadIdx.x / WARPGROUP - 1;
        for (int stage = 0; stage < STAGES; ++stage) {
            (void)empty[stage].arrive();
        }
        float sum[BN / 2];
        for (int step = 0; step < steps; ++step) {
            const int stage = step % STAGES;
            full[stage].wait(full[stage].arrive());
            const uint32_t at = shared_address(ring) + stage * STAGE_BYTES;
            const uint64_t a = tile_descriptor(at + consumer * 64 * BK * 2);
            const uint64_t b = tile_descriptor(at + A_BYTES);
            products_begin();
            #pragma unroll
            for (int k = 0; k < BK / 16; ++k) {
                multiply_256(sum, a + k * NEXT_K16, b + k * NEXT_K16, step > 0 || k > 0);
            }
            products_commit();
            products_wait<0>();
            (void)empty[stage].arrive();
        }

        const int thread = threadIdx.x % WARPGROUP;
        const int row = row0 + consumer * 64 + thread / 32 * 16 + thread % 32 / 4;
        const int col = col0 + thread % 4 * 2;
        #pragma unroll
        for (int i = 0; i < BN / 2; i += 2) {
            const size_t r = row + i / 2 % 2 * 8;
            *reinterpret_cast<__nv_bfloat162*>(&C[r * N + col + i / 4 * 8]) =
                __floats2bfloat162_rn(sum[i], sum[i + 1]);
        }
    }
}
