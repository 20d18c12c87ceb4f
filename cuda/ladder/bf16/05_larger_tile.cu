// A larger tile
//
// Changes: 128 x 128 outputs a block: half as many bytes from L2 for each product.
// Before: l2-bandwidth: L2 is 90 % busy; a 64 x 64 tile needs a byte from there for every 32
// multiply-adds.
// Sizes: M and N must be multiples of 128, K of 64.
//
// /// kernelprof
// kernel = "bf16_larger_tile"
// block = [128]
// grid = ["N // 128", "M // 128"]
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
// sizes = { M = 256, N = 384, K = 320 }
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
//
// [launch]
// shared_bytes = "0"
// warmup = 5
// measured = 20
// ///

#include "hopper.cuh"

constexpr int BM = 128;
constexpr int BN = 128;

extern "C" __global__ void __launch_bounds__(WARPGROUP)
bf16_larger_tile(__nv_bfloat16* __restrict__ C, const __grid_constant__ CUtensorMap map_a,
                 const __grid_constant__ CUtensorMap map_b, int M, int N, int K) {
    __shared__ alignas(TILE_ALIGNMENT) __nv_bfloat16 As[BM * BK];
    __shared__ alignas(TILE_ALIGNMENT) __nv_bfloat16 Bs[BN * BK];
    __shared__ uint64_t arrived;
    const uint32_t barrier = shared_address(&arrived);
    const int row0 = blockIdx.y * BM;
    const int col0 = blockIdx.x * BN;

    if (threadIdx.x == 0) {
        barrier_init(barrier, 1);
        fence_barrier_init();
    }
    __syncthreads();

    float sum[BM / 64][BN / 2];
    for (int step = 0; step < K / BK; ++step) {
        if (threadIdx.x == 0) {
            barrier_expect(barrier, sizeof(As) + sizeof(Bs));
            copy_tile(shared_address(As), &map_a, step * BK, row0, barrier);
            copy_tile(shared_address(Bs), &map_b, step * BK, col0, barrier);
        }
        barrier_wait(barrier, step & 1);
        const uint64_t b = tile_descriptor(shared_address(Bs));
        products_begin();
        #pragma unroll
        for (int m = 0; m < BM / 64; ++m) {
            const uint64_t a = tile_descriptor(shared_address(As + m * 64 * BK));
            #pragma unroll
            for (int k = 0; k < BK / 16; ++k) {
                multiply_128(sum[m], a + k * NEXT_K16, b + k * NEXT_K16, step > 0 || k > 0);
            }
        }
        products_commit();
        products_wait<0>();
        __syncthreads();  // all have read the tiles before they are overwritten
    }

    const int row = row0 + threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4;
    const int col = col0 + threadIdx.x % 4 * 2;
    #pragma unroll
    for (int m = 0; m < BM / 64; ++m) {
        #pragma unroll
        for (int i = 0; i < BN / 2; i += 2) {
            const size_t r = row + m * 64 + i / 2 % 2 * 8;
            *reinterpret_cast<__nv_bfloat162*>(&C[r * N + col + i / 4 * 8]) =
                __floats2bfloat162_rn(sum[m][i], sum[m][i + 1]);
        }
    }
}
