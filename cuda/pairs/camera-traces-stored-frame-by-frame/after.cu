// Camera frames to a trace for each pixel, stored trace by trace
//
// The tile is turned in shared memory, so that a warp stores 32 frames of one pixel: four sectors
// for 128 bytes.
//
// /// kernelprof
// kernel = "traces"
// block = [256]
// grid = ["PIXELS // 32", "FRAMES // 64"]
// reference = "reference:traces"
// min_bytes = "8 * PIXELS * FRAMES"
//
// [sizes]
// PIXELS = 65536
// FRAMES = 1024
//
// [check]
// sizes = { PIXELS = 1024, FRAMES = 256 }
//
// [compile]
// standard = "c++17"
// flags = ["-O3"]
//
// [[arguments]]
// name = "map"
// tensor_map = { of = "frames", box = [32, 64] }
//
// [[arguments]]
// name = "frames"
// type = "float32"
// shape = ["FRAMES", "PIXELS"]
// passed = false
//
// [[arguments]]
// name = "dark"
// type = "float32"
// shape = ["PIXELS"]
//
// [[arguments]]
// name = "gain"
// type = "float32"
// shape = ["PIXELS"]
//
// [[arguments]]
// name = "out"
// type = "float32"
// shape = ["PIXELS", "FRAMES"]
// output = true
//
// [[arguments]]
// name = "count"
// type = "int32"
// value = "FRAMES"
// ///

#include <cuda.h>

#include <cstdint>

constexpr int PIXELS = 32;  // of a tile
constexpr int FRAMES = 64;
constexpr int WARPS = 8;
constexpr unsigned BYTES = 4 * PIXELS * FRAMES;

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

// Frames of calibrated pixels become a trace for each pixel, by way of a turned tile.
extern "C" __global__ void __launch_bounds__(256)
    traces(const __grid_constant__ CUtensorMap map, const float* __restrict__ dark,
           const float* __restrict__ gain, float* __restrict__ out, int count) {
    __shared__ __align__(128) float tile[FRAMES][PIXELS];
    __shared__ float turned[PIXELS][FRAMES + 1];
    __shared__ uint64_t full;
    const int pixel = blockIdx.x * PIXELS;
    const int frame = blockIdx.y * FRAMES;
    if (threadIdx.x == 0) {
        barrier_init(&full);
        barrier_expect(&full, BYTES);
        copy_tile(tile, &map, pixel, frame, &full);
    }
    const int warp = threadIdx.x / 32;
    const int lane = threadIdx.x % 32;
    const float zero = dark[pixel + lane];
    const float factor = gain[pixel + lane];
    __syncthreads();
    barrier_wait(&full, 0);
#pragma unroll
    for (int t = warp; t < FRAMES; t += WARPS) turned[lane][t] = (tile[t][lane] - zero) * factor;
    __syncthreads();
#pragma unroll
    for (int p = warp; p < PIXELS; p += WARPS) {
        float* trace = out + static_cast<size_t>(pixel + p) * count + frame;
        trace[lane] = turned[p][lane];
        trace[lane + 32] = turned[p][lane + 32];
    }
}
