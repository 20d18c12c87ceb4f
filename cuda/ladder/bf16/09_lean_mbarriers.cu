// Lean mbarriers
//
// Changes: The barriers are mbarriers in PTX: a warpgroup arrives once and not 128 times, nobody
// arrives to wait, and the registers that this frees go to the producer.
// Before: async-pipeline-stalls: the tensor pipe is still 72 % busy: it is the barriers and
// instructions between the products, 21 % of the warps' time.
// Sizes: M must be a multiple of 128, N of 256, K of 64.
//
// /// kernelprof
// kernel = "bf16_lean_mbarriers"
// block = [384]
// grid = ["min(BLOCKS, (N // 256) * (M // 128))"]
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
// sizes = { M = 1280, N = 4096, K = 448 }
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
// defines = { STAGES = 4, GROUP = 16, BLOCKS = 132 }
//
// [launch]
// shared_bytes = "STAGES * 49152"
// warmup = 5
// measured = 20
// ///

#include "hopper.cuh"

constexpr int BM = 128;
constexpr int BN = 256;
constexpr int CONSUMERS = 2;
constexpr int A_BYTES = BM * BK * 2;
constexpr int B_BYTES = BN * BK * 2;
constexpr int STAGE_BYTES = A_BYTES + B_BYTES;

// The tiles in an order in which those worked on at once share rows and columns in L2: columns of
// GROUP tiles, one column after the other.
struct Tile {
    int row, col;
};

__device__ __forceinline__ Tile tile_at(int index, int rows, int columns) {
    const int first = index / (GROUP * columns) * GROUP;
    const int height = min(GROUP, rows - first);
    const int within = index % (GROUP * columns);
    return {(first + within % height) * BM, within / height * BN};
}

extern "C" __global__ void __launch_bounds__((1 + CONSUMERS) * WARPGROUP, 1)
bf16_lean_mbarriers(__nv_bfloat16* __restrict__ C,
                    const __grid_constant__ CUtensorMap map_a,
                    const __grid_constant__ CUtensorMap map_b,
                    int M, int N, int K) {
    extern __shared__ __align__(TILE_ALIGNMENT) uint8_t ring[];
    __shared__ uint64_t full[STAGES];
    __shared__ uint64_t empty[STAGES];
    const int rows = M / BM;  // of tiles
    const int columns = N / BN;
    const int steps = K / BK;
    const uint32_t ring0 = shared_address(ring);
    const uint32_t full0 = shared_address(full);
    const uint32_t empty0 = shared_address(empty);

    if (threadIdx.x == 0) {
        for (int stage = 0; stage < STAGES; ++stage) {
            barrier_init(full0 + stage * 8, 1);
            barrier_init(empty0 + stage * 8, CONSUMERS);
        }
        fence_barrier_init();
    }
    __syncthreads();

    if (threadIdx.x < WARPGROUP) {
        give_registers<40>();
        if (threadIdx.x == 0) {
            int stage = 0;
            uint32_t phase = 0;
            for (int index = blockIdx.x; index < rows * columns; index += gridDim.x) {
                const Tile tile = tile_at(index, rows, columns);
                for (int step = 0; step < steps; ++step) {
                    barrier_wait(empty0 + stage * 8, phase ^ 1);
                    const uint32_t at = ring0 + stage * STAGE_BYTES;
                    const uint32_t barrier = full0 + stage * 8;
                    barrier_expect(barrier, STAGE_BYTES);
                    copy_tile(at, &map_a, step * BK, tile.row, barrier);
                    copy_tile(at + A_BYTES, &map_b, step * BK, tile.col, barrier);
                    if (++stage == STAGES) {
                        stage = 0;
                        phase ^= 1;
                    }
                }
            }
        }
    } else {
        take_registers<232>();
        const int consumer = threadIdx.x / WARPGROUP - 1;
        const int thread = threadIdx.x % WARPGROUP;
        int stage = 0;
        uint32_t phase = 0;
        for (int index = blockIdx.x; index < rows * columns; index += gridDim.x) {
            const Tile tile = tile_at(index, rows, columns);
            float sum[BN / 2];
            for (int step = 0; step < steps; ++step) {
                barrier_wait(full0 + stage * 8, phase);
                const uint32_t at = ring0 + stage * STAGE_BYTES;
                const uint64_t a = tile_descriptor(at + consumer * 64 * BK * 2);
                const uint64_t b = tile_descriptor(at + A_BYTES);
                products_begin();
                #pragma unroll
                for (int k = 0; k < BK / 16; ++k) {
                    multiply_256(sum, a + k * NEXT_K16, b + k * NEXT_K16, step > 0 || k > 0);
                }
                products_commit();
                products_wait<0>();
                if (thread == 0) {
                    barrier_arrive(empty0 + stage * 8);
                }
                if (++stage == STAGES) {
                    stage = 0;
                    phase ^= 1;
                }
            }

            const int row = tile.row + consumer * 64 + thread / 32 * 16 + thread % 32 / 4;
            const int col = tile.col + thread % 4 * 2;
            #pragma unroll
            for (int i = 0; i < BN / 2; i += 2) {
                const size_t r = row + i / 2 % 2 * 8;
                *reinterpret_cast<__nv_bfloat162*>(&C[r * N + col + i / 4 * 8]) =
                    __floats2bfloat162_rn(sum[i], sum[i + 1]);
            }
        }
    }
}
