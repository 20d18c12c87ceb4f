// Even waves
//
// Changes: 128 blocks and not 132: they share 512 or 2048 tiles evenly, in as many waves as 132
// blocks need. What the four idle SMs do not draw, the others get as clock.
// Before: tensor-throughput, at its limit: the tensor pipe is 98 % busy while SMs have work, and
// the chip draws all the power that it may: it runs at 1.5 GHz where 1.98 are possible. 132 blocks
// need 16 waves for 2048 tiles, as 128 do.
// Sizes: M must be a multiple of 128, N of 256, K of 64.
//
// /// kernelprof
// kernel = "bf16_even_waves"
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
// passed = false
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
// name = "map_c"
// tensor_map = { of = "C", box = [64, 64], swizzle = "128B" }
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
// defines = { STAGES = 3, BUFFERS = 4, GROUP = 8, BLOCKS = 128 }
//
// [launch]
// shared_bytes = "STAGES * 49152 + 2 * BUFFERS * 8192"
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

constexpr int PART_BYTES = 64 * 64 * 2;  // 64 columns of a consumer's rows

__device__ __forceinline__ void consumer_sync(int consumer) {
    asm volatile("bar.sync %0, %1;" ::"r"(1 + consumer), "n"(WARPGROUP) : "memory");
}

__device__ __forceinline__ uint32_t packed(float low, float high) {
    const __nv_bfloat162 both = __floats2bfloat162_rn(low, high);
    return *reinterpret_cast<const uint32_t*>(&both);
}

// Writes 64 x 64 sums of a warpgroup to shared memory as TMA's 128-byte swizzle has them.
__device__ __forceinline__ void stage_part(uint32_t to, const float* sum, int thread) {
    const int lane = thread % 32;
    const int row = thread / 32 * 16 + lane % 16;
    #pragma unroll
    for (int chunk = 0; chunk < 8; chunk += 2) {
        const float* d = sum + chunk * 4;
        asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(
                         to + row * 128 + (((chunk + lane / 16) ^ (row & 7)) << 4)),
                     "r"(packed(d[0], d[1])), "r"(packed(d[2], d[3])), "r"(packed(d[4], d[5])),
                     "r"(packed(d[6], d[7]))
                     : "memory");
    }
}

extern "C" __global__ void __launch_bounds__((1 + CONSUMERS) * WARPGROUP, 1)
bf16_even_waves(const __grid_constant__ CUtensorMap map_a,
                  const __grid_constant__ CUtensorMap map_b,
                  const __grid_constant__ CUtensorMap map_c,
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
        const uint32_t staged = ring0 + STAGES * STAGE_BYTES + consumer * BUFFERS * PART_BYTES;
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

            // Through shared memory, 64 columns at a time, swizzled as the map of C says.
            #pragma unroll
            for (int part = 0; part < BN / 64; ++part) {
                const uint32_t to = staged + part % BUFFERS * PART_BYTES;
                if (part % BUFFERS == 0) {
                    if (thread == 0) {
                        wait_stores_read<0>();
                    }
                    consumer_sync(consumer);
                }
                stage_part(to, &sum[part * 32], thread);
                fence_shared_for_copies();
                if (part % BUFFERS == BUFFERS - 1) {
                    consumer_sync(consumer);
                    if (thread == 0) {
                        #pragma unroll
                        for (int n = 0; n < BUFFERS; ++n) {
                            const int column = tile.col + (part + 1 - BUFFERS + n) * 64;
                            store_tile(&map_c, staged + n * PART_BYTES, column,
                                       tile.row + consumer * 64);
                        }
                        commit_stores();
                    }
                }
            }
        }
        if (thread == 0) {
            wait_stores_read<0>();
        }
    }
}
