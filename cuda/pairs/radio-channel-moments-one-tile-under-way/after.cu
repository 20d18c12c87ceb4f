// Moments of radio channels over time, six tiles under way
//
// Five tiles are on their way while a block computes with the sixth.
//
// /// kernelprof
// kernel = "channel_moments"
// block = [256]
// grid = ["CHANNELS // 64"]
// reference = "reference:channel_moments"
// min_bytes = "4 * CHANNELS * SPECTRA"
//
// [sizes]
// CHANNELS = 8448
// SPECTRA = 8192
//
// [check]
// sizes = { CHANNELS = 192, SPECTRA = 1024 }
//
// [compile]
// standard = "c++17"
// flags = ["-O3"]
// defines = { STAGES = 6 }
//
// [launch]
// shared_bytes = "STAGES * 16384"
//
// [[arguments]]
// name = "map"
// tensor_map = { of = "spectra", box = [64, 64] }
//
// [[arguments]]
// name = "spectra"
// type = "float32"
// shape = ["SPECTRA", "CHANNELS"]
// passed = false
//
// [[arguments]]
// name = "moments"
// type = "float32"
// shape = [4, "CHANNELS"]
// output = true
//
// [[arguments]]
// name = "count"
// type = "int32"
// value = "SPECTRA"
// ///

#include <cuda.h>

#include <cstdint>

constexpr int CHANNELS = 64;  // of a block, and of a tile
constexpr int ROWS = 64;      // spectra of a tile
constexpr int GROUPS = 4;     // threads that share a channel
constexpr unsigned BYTES = 4 * CHANNELS * ROWS;

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

// Sums of the first four powers of each channel; a block walks down its channels.
extern "C" __global__ void __launch_bounds__(256)
    channel_moments(const __grid_constant__ CUtensorMap map, float* __restrict__ moments,
                    int count) {
    extern __shared__ __align__(128) float tiles[];
    __shared__ uint64_t full[STAGES];
    const int channel = threadIdx.x % CHANNELS;
    const int group = threadIdx.x / CHANNELS;
    const int first = blockIdx.x * CHANNELS;
    auto load = [&](int i) {
        uint64_t* barrier = &full[i % STAGES];
        barrier_expect(barrier, BYTES);
        copy_tile(tiles + i % STAGES * (CHANNELS * ROWS), &map, first, i * ROWS, barrier);
    };
    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; ++s) barrier_init(&full[s]);
    }
    __syncthreads();
    const int steps = count / ROWS;
    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES && i < steps; ++i) load(i);
    }
    float sum[4] = {};
    for (int i = 0; i < steps; ++i) {
        barrier_wait(&full[i % STAGES], i / STAGES & 1);
        const float* tile = tiles + i % STAGES * (CHANNELS * ROWS);
#pragma unroll
        for (int k = 0; k < ROWS / GROUPS; ++k) {
            const float x = tile[(k * GROUPS + group) * CHANNELS + channel];
            const float square = x * x;
            sum[0] += x;
            sum[1] += square;
            sum[2] = fmaf(square, x, sum[2]);
            sum[3] = fmaf(square, square, sum[3]);
        }
        __syncthreads();
        if (threadIdx.x == 0 && i + STAGES < steps) load(i + STAGES);
    }
    __shared__ float parts[4][GROUPS][CHANNELS];
#pragma unroll
    for (int m = 0; m < 4; ++m) parts[m][group][channel] = sum[m];
    __syncthreads();
    // A thread for each moment of a channel.
    const float* part = parts[group][0] + channel;
    moments[group * (gridDim.x * CHANNELS) + first + channel] =
        (part[0] + part[CHANNELS]) + (part[2 * CHANNELS] + part[3 * CHANNELS]);
}
