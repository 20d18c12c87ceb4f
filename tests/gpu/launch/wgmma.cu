// /// kernelprof
// kernel = "wgmma"
// block = [128]
// grid = ["N // 64", "M // 64"]
// reference = "gemm_nt"
// flops = "2 * M * N * K"
//
// [sizes]
// M = 2048
// N = 2048
// K = 2048
//
// [check]
// sizes = { M = 128, N = 192, K = 256 }
//
// [[arguments]]
// name = "map_a"
// tensor_map = { of = "A", box = [64, 64], swizzle = "128B" }
//
// [[arguments]]
// name = "map_b"
// tensor_map = { of = "B", box = [64, 64], swizzle = "128B" }
//
// [[arguments]]
// name = "C"
// type = "float32"
// shape = ["M", "N"]
// output = true
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
// ///
#include "tma.cuh"

// Rows of 128 bytes that TMA swizzled; eight of them are 1024 bytes (PTX ISA, "Matrix Descriptor").
__device__ inline uint64_t descriptor(const void* tile) {
    return (shared_address(tile) & 0x3FFFF) >> 4 | uint64_t(1) << 16 |
           uint64_t(1024 >> 4) << 32 | uint64_t(1) << 62;
}

__device__ inline void multiply(float (&d)[32], uint64_t a, uint64_t b) {
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 "
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
        "%32, %33, 1, 1, 1, 0, 0;"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
          "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]),
          "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]),
          "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]),
          "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
        : "l"(a), "l"(b));
}

// One warpgroup computes 64 x 64 of C; B is stored transposed.
__global__ void __launch_bounds__(128)
    wgmma(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b,
          float* C, int N, int K) {
    __shared__ alignas(1024) __nv_bfloat16 a[64 * 64];
    __shared__ alignas(1024) __nv_bfloat16 b[64 * 64];
    __shared__ uint64_t barrier;
    const int row = blockIdx.y * 64, column = blockIdx.x * 64;
    if (threadIdx.x == 0) {
        init_barrier(&barrier);
    }
    __syncthreads();
    float d[32] = {};
    for (int k = 0; k < K; k += 64) {
        if (threadIdx.x == 0) {
            expect_bytes(&barrier, sizeof(a) + sizeof(b));
            load_box(a, map_a, k, row, &barrier);
            load_box(b, map_b, k, column, &barrier);
        }
        wait_for(&barrier, k / 64 % 2);
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
        for (int step = 0; step < 4; ++step) {
            multiply(d, descriptor(a + 16 * step), descriptor(b + 16 * step));
        }
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
        __syncthreads();
    }
    const int lane = threadIdx.x % 32;
    for (int i = 0; i < 32; ++i) {
        const int y = row + threadIdx.x / 32 * 16 + lane / 4 + i / 2 % 2 * 8;
        const int x = column + i / 4 * 8 + lane % 4 * 2 + i % 2;
        C[y * N + x] = d[i];
    }
}
