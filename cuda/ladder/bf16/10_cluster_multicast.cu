// Clusters with multicast
//
// Changes: Two blocks form a cluster on one tile of B: each copies half of it for both. A variant
// to compare with, not a step up: L2 was not the limit.
// Before: tensor-throughput, near its limit: the tensor pipe is 94 % busy while SMs have work; L2
// is 73 % busy, and a tile of B that two blocks share would pass it once.
// Sizes: M must be a multiple of 256, N of 256, K of 64.
//
// /// kernelprof
// kernel = "bf16_cluster_multicast"
// block = [384]
// grid = ["2 * min(BLOCKS // 2, (N // 256) * (M // 256))"]
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
// sizes = { M = 1536, N = 3072, K = 448 }
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
// tensor_map = { of = "B", box = [64, 128], swizzle = "128B" }
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
// defines = { STAGES = 4, GROUP = 8, BLOCKS = 132 }
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
constexpr int CLUSTER = 2;
constexpr uint16_t BOTH = 0b11;  // the blocks of a cluster, a bit each

// Pairs of tiles, one below the other, in an order in which those worked on at once share rows and
// columns in L2: columns of GROUP pairs, one column after the other.
struct Tile {
    int row, col;
};

__device__ __forceinline__ Tile tile_at(int index, int rows, int columns) {
    const int first = index / (GROUP * columns) * GROUP;
    const int height = min(GROUP, rows - first);
    const int within = index % (GROUP * columns);
    return {(first + within % height) * CLUSTER * BM, within / height * BN};
}

extern "C" __global__ void __cluster_dims__(CLUSTER, 1, 1)
__launch_bounds__((1 + CONSUMERS) * WARPGROUP, 1)
bf16_cluster_multicast(__nv_bfloat16* __restrict__ C,
                       const __grid_constant__ CUtensorMap map_a,
                       const __grid_constant__ CUtensorMap map_b,
                       int M, int N, int K) {
    extern __shared__ __align__(TILE_ALIGNMENT) uint8_t ring[];
    __shared__ uint64_t full[STAGES];
    __shared__ uint64_t empty[STAGES];
    const int rows = M / BM / CLUSTER;  // of pairs of tiles
    const int columns = N / BN;
    const int rank = block_in_cluster();
    const int cluster = blockIdx.x / CLUSTER;
    const int clusters = gridDim.x / CLUSTER;
    const int steps = K / BK;
    const uint32_t ring0 = shared_address(ring);
    const uint32_t full0 = shared_address(full);
    const uint32_t empty0 = shared_address(empty);

    if (threadIdx.x == 0) {
        for (int stage = 0; stage < STAGES; ++stage) {
            barrier_init(full0 + stage * 8, 1);
            barrier_init(empty0 + stage * 8, CONSUMERS * CLUSTER);
        }
        fence_barrier_init();
    }
    cluster_sync();

    if (threadIdx.x < WARPGROUP) {
        give_registers<40>();
        if (threadIdx.x == 0) {
            int stage = 0;
            uint32_t phase = 0;
            for (int index = cluster; index < rows * columns; index += clusters) {
                const Tile tile = tile_at(index, rows, columns);
                for (int step = 0; step < steps; ++step) {
                    barrier_wait(empty0 + stage * 8, phase ^ 1);
                    const uint32_t at = ring0 + stage * STAGE_BYTES;
                    const uint32_t barrier = full0 + stage * 8;
                    barrier_expect(barrier, STAGE_BYTES);
                    copy_tile(at, &map_a, step * BK, tile.row + rank * BM, barrier);
                    copy_tile_to(BOTH, at + A_BYTES + rank * (B_BYTES / CLUSTER), &map_b, step * BK,
                                 tile.col + rank * (BN / CLUSTER), barrier);
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
        for (int index = cluster; index < rows * columns; index += clusters) {
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
                if (thread < CLUSTER) {
                    barrier_arrive_at(empty0 + stage * 8, thread);
                }
                if (++stage == STAGES) {
                    stage = 0;
                    phase ^= 1;
                }
            }

            const int row0 = tile.row + rank * BM + consumer * 64;
            const int row = row0 + thread / 32 * 16 + thread % 32 / 4;
            const int col = tile.col + thread % 4 * 2;
            #pragma unroll
            for (int i = 0; i < BN / 2; i += 2) {
                const size_t r = row + i / 2 % 2 * 8;
                *reinterpret_cast<__nv_bfloat162*>(&C[r * N + col + i / 4 * 8]) =
                    __floats2bfloat162_rn(sum[i], sum[i + 1]);
            }
        }
    }
    cluster_sync();  // nobody ends while the other may still write to it
}
