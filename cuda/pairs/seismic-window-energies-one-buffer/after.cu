// Energies of a filtered seismic trace, four buffers for its tiles
//
// Three tiles are on their way while a block computes with the fourth.
//
// /// kernelprof
// kernel = "window_energies"
// block = [512]
// grid = [132]
// reference = "reference:window_energies"
// flops = "8192 * TILES * 34"
// min_bytes = "4 * 8192 * TILES"
//
// [sizes]
// TILES = 8448
//
// [check]
// sizes = { TILES = 300 }
//
// [compile]
// standard = "c++17"
// flags = ["-O3"]
// defines = { STAGES = 4 }
//
// [launch]
// shared_bytes = "STAGES * 32896"
//
// [[arguments]]
// name = "trace"
// type = "float32"
// shape = ["8192 * TILES + 32"]
//
// [[arguments]]
// name = "taps"
// type = "float32"
// shape = [16]
//
// [[arguments]]
// name = "energies"
// type = "float32"
// shape = ["64 * TILES"]
// output = true
//
// [[arguments]]
// name = "tiles"
// type = "int32"
// value = "TILES"
// ///

#include <cstdint>

constexpr int TAPS = 16;
constexpr int TILE = 8192;         // samples, and as many outputs
constexpr int ROOM = TILE + 32;    // floats of a buffer
constexpr unsigned BYTES = 4 * (TILE + TAPS);

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

__device__ void copy_bytes(void* to, const void* from, unsigned bytes, uint64_t* barrier) {
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
        "[%0], [%1], %2, [%3];" ::"r"(shared_address(to)),
        "l"(from), "r"(bytes), "r"(shared_address(barrier))
        : "memory");
}

// Each warp filters windows of 128 samples, four a lane, and adds up their squares.
extern "C" __global__ void __launch_bounds__(512)
    window_energies(const float* __restrict__ trace, const float* __restrict__ weights,
                    float* __restrict__ energies, int tiles) {
    extern __shared__ __align__(128) float buffers[];
    __shared__ uint64_t full[STAGES];
    const int warp = threadIdx.x / 32;
    const int lane = threadIdx.x % 32;
    float taps[TAPS];
#pragma unroll
    for (int k = 0; k < TAPS; ++k) taps[k] = weights[k];

    const int step = gridDim.x;
    const int count = (tiles - static_cast<int>(blockIdx.x) + step - 1) / step;
    auto load = [&](int i) {
        uint64_t* barrier = &full[i % STAGES];
        barrier_expect(barrier, BYTES);
        copy_bytes(buffers + i % STAGES * ROOM,
                   trace + static_cast<size_t>(blockIdx.x + i * step) * TILE, BYTES, barrier);
    };
    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; ++s) barrier_init(&full[s]);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES && i < count; ++i) load(i);
    }
    for (int i = 0; i < count; ++i) {
        barrier_wait(&full[i % STAGES], i / STAGES & 1);
        const float4* samples = reinterpret_cast<const float4*>(buffers + i % STAGES * ROOM);
#pragma unroll 1
        for (int window = warp; window < TILE / 128; window += 16) {
            float x[TAPS + 4];
#pragma unroll
            for (int k = 0; k < TAPS / 4 + 1; ++k) {
                const float4 four = samples[window * 32 + lane + k];
                x[4 * k] = four.x;
                x[4 * k + 1] = four.y;
                x[4 * k + 2] = four.z;
                x[4 * k + 3] = four.w;
            }
            float energy = 0.0f;
#pragma unroll
            for (int o = 0; o < 4; ++o) {
                float y = 0.0f;
#pragma unroll
                for (int k = 0; k < TAPS; ++k) y = fmaf(taps[k], x[o + k], y);
                energy = fmaf(y, y, energy);
            }
#pragma unroll
            for (int other = 16; other > 0; other /= 2) {
                energy += __shfl_xor_sync(~0u, energy, other);
            }
            if (lane == 0) {
                const size_t tile = blockIdx.x + i * step;
                energies[tile * (TILE / 128) + window] = energy;
            }
        }
        __syncthreads();
        if (threadIdx.x == 0 && i + STAGES < count) load(i + STAGES);
    }
}
