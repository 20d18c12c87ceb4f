// A divided tail
//
// Changes: The tiles of a last wave that would leave more than a quarter of the SMs idle are shared
// by all of them along K; partial sums pass through L2.
// Before: tensor-throughput, at its limit: the tensor pipe is 98 % busy while SMs have work; over
// the whole time it is 94 %, for the last of 16 waves has tiles for half of the SMs.
// Sizes: M must be a multiple of 128, N of 256, K of 64.
//
// /// kernelprof
// kernel = "bf16_divided_tail"
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
// defines = { STAGES = 3, BUFFERS = 4, GROUP = 8, BLOCKS = 132 }
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

// The work of a block: whole tiles, and then its part of the tiles that are left, which all blocks
// share evenly along K where the last wave would leave more than a quarter of the blocks idle.
struct Part {
    int tile, first, count;  // steps along K
};

struct Work {
    int tiles, steps, whole, at, end;  // whole: tiles a block; at, end: steps of the shared ones
    bool divided;

    __device__ Work(int tiles, int steps, int block) : tiles(tiles), steps(steps) {
        const int blocks = gridDim.x;
        const int rest = tiles % blocks;
        divided = tiles > blocks && rest > 0 && rest <= blocks * 3 / 4;
        whole = divided ? tiles / blocks : (tiles - block + blocks - 1) / blocks;
        at = divided ? begin(block) : 0;
        end = divided ? begin(block + 1) : 0;
    }

    __device__ int begin(int block) const {
        const long long left = static_cast<long long>(tiles % gridDim.x) * steps;
        return static_cast<int>(left * block / gridDim.x);
    }

    __device__ bool next(Part& part, int& done) {
        if (done < whole) {
            part = {done++ * static_cast<int>(gridDim.x) + static_cast<int>(blockIdx.x), 0, steps};
            return true;
        }
        if (at >= end) {
            return false;
        }
        const int first = at % steps;
        part = {tiles / static_cast<int>(gridDim.x) * static_cast<int>(gridDim.x) + at / steps,
                first, min(steps - first, end - at)};
        at += part.count;
        return true;
    }
};

// Sums of a part that does not begin its tile, for the block that has the beginning; 1 once they
// are there. Whoever reads them sets it back.
constexpr int QUADS = BM * BN / 4;
__device__ float4 sums_of[BLOCKS][QUADS];
__device__ int ready[BLOCKS][CONSUMERS];

// The maps, and where things lie in shared memory.
struct Places {
    const CUtensorMap *map_a, *map_b, *map_c;
    uint32_t ring, full, empty;
    int rows, columns;  // of tiles
};

__device__ void produce(const Places& at, Work work) {
    int stage = 0;
    uint32_t phase = 0;
    int done = 0;
    for (Part part; work.next(part, done);) {
        const Tile tile = tile_at(part.tile, at.rows, at.columns);
        for (int step = part.first; step < part.first + part.count; ++step) {
            barrier_wait(at.empty + stage * 8, phase ^ 1);
            const uint32_t to = at.ring + stage * STAGE_BYTES;
            const uint32_t barrier = at.full + stage * 8;
            barrier_expect(barrier, STAGE_BYTES);
            copy_tile(to, at.map_a, step * BK, tile.row, barrier);
            copy_tile(to + A_BYTES, at.map_b, step * BK, tile.col, barrier);
            if (++stage == STAGES) {
                stage = 0;
                phase ^= 1;
            }
        }
    }
}

// Hands the sums of a part that does not begin its tile to whoever has the beginning.
__device__ __forceinline__ void hand_over(const float (&sum)[BN / 2], int consumer, int thread) {
    float4* to = &sums_of[blockIdx.x][consumer * WARPGROUP + thread];
    #pragma unroll
    for (int i = 0; i < BN / 2; i += 4) {
        __stcg(to + i / 4 * CONSUMERS * WARPGROUP,
               make_float4(sum[i], sum[i + 1], sum[i + 2], sum[i + 3]));
    }
    __threadfence();
    consumer_sync(consumer);
    if (thread == 0) {
        atomicExch(&ready[blockIdx.x][consumer], 1);
    }
}

// Adds the sums of the blocks that have the rest of this tile.
__device__ __forceinline__ void take_over(float (&sum)[BN / 2], int consumer, int thread,
                                          const Work& work, int missing) {
    #pragma unroll 1
    for (int other = blockIdx.x + 1; missing > 0; ++other) {
        missing -= min(missing, work.begin(other + 1) - work.begin(other));
        if (thread == 0) {
            while (atomicAdd(&ready[other][consumer], 0) == 0) {
            }
            ready[other][consumer] = 0;
            __threadfence();
        }
        consumer_sync(consumer);
        const float4* from = &sums_of[other][consumer * WARPGROUP + thread];
        #pragma unroll
        for (int i = 0; i < BN / 2; i += 4) {
            const float4 more = __ldcg(from + i / 4 * CONSUMERS * WARPGROUP);
            sum[i] += more.x;
            sum[i + 1] += more.y;
            sum[i + 2] += more.z;
            sum[i + 3] += more.w;
        }
    }
}

// DIVIDED leaves the way of whole tiles as short as it is without any of this.
template <bool DIVIDED>
__device__ __forceinline__ void consume(const Places& at, Work work) {
    const int consumer = threadIdx.x / WARPGROUP - 1;
    const int thread = threadIdx.x % WARPGROUP;
    const uint32_t staged = at.ring + STAGES * STAGE_BYTES + consumer * BUFFERS * PART_BYTES;
    int stage = 0;
    uint32_t phase = 0;
    int done = 0;
    Part part{static_cast<int>(blockIdx.x) - static_cast<int>(gridDim.x), 0, work.steps};
    while (DIVIDED ? work.next(part, done) : (part.tile += gridDim.x) < work.tiles) {
        const Tile tile = tile_at(part.tile, at.rows, at.columns);
        float sum[BN / 2];
        for (int step = 0; step < part.count; ++step) {
            barrier_wait(at.full + stage * 8, phase);
            const uint32_t from = at.ring + stage * STAGE_BYTES;
            const uint64_t a = tile_descriptor(from + consumer * 64 * BK * 2);
            const uint64_t b = tile_descriptor(from + A_BYTES);
            products_begin();
            #pragma unroll
            for (int k = 0; k < BK / 16; ++k) {
                multiply_256(sum, a + k * NEXT_K16, b + k * NEXT_K16, step > 0 || k > 0);
            }
            products_commit();
            products_wait<0>();
            if (thread == 0) {
                barrier_arrive(at.empty + stage * 8);
            }
            if (++stage == STAGES) {
                stage = 0;
                phase ^= 1;
            }
        }
        if (DIVIDED && part.first > 0) {
            hand_over(sum, consumer, thread);
            continue;
        }
        if (DIVIDED) {
            take_over(sum, consumer, thread, work, work.steps - part.count);
        }
        // Through shared memory, 64 columns at a time, swizzled as the map of C says.
        #pragma unroll
        for (int columns = 0; columns < BN / 64; ++columns) {
            const uint32_t to = staged + columns % BUFFERS * PART_BYTES;
            if (columns % BUFFERS == 0) {
                if (thread == 0) {
                    wait_stores_read<0>();
                }
                consumer_sync(consumer);
            }
            stage_part(to, &sum[columns * 32], thread);
            fence_shared_for_copies();
            if (columns % BUFFERS == BUFFERS - 1) {
                consumer_sync(consumer);
                if (thread == 0) {
                    #pragma unroll
                    for (int n = 0; n < BUFFERS; ++n) {
                        const int column = tile.col + (columns + 1 - BUFFERS + n) * 64;
                        store_tile(at.map_c, staged + n * PART_BYTES, column,
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

extern "C" __global__ void __launch_bounds__((1 + CONSUMERS) * WARPGROUP, 1)
bf16_divided_tail(const __grid_constant__ CUtensorMap map_a,
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

    const Work work(rows * columns, steps, blockIdx.x);
    const Places places{&map_a, &map_b, &map_c, ring0, full0, empty0, rows, columns};
    if (threadIdx.x < WARPGROUP) {
        give_registers<40>();
        if (threadIdx.x == 0) {
            produce(places, work);
        }
    } else {
        take_registers<232>();
        if (work.divided) {
            consume<true>(places, work);
        } else {
            consume<false>(places, work);
        }
    }
}
