// Kernels that ptxas warns of. What it said stands beside, by version:
//   nvcc -gencode=arch=compute_90a,code=sm_90a -lineinfo -Xptxas=-v -cubin warnings.cu
#include <stdint.h>

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

__device__ inline void fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ inline void commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

template <int LEFT>
__device__ inline void wait() {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(LEFT) : "memory");
}

__device__ inline void store(float* c, const float (&d)[32]) {
    for (int i = 0; i < 32; ++i) {
        c[i * 128 + threadIdx.x] = d[i];
    }
}

extern "C" __global__ void right(float* c, uint64_t a, uint64_t b) {
    float d[32] = {};
    fence();
    multiply(d, a, b);
    commit();
    wait<0>();
    store(c, d);
}

extern "C" __global__ void changes_accumulators(float* c, uint64_t a, uint64_t b) {
    float d[32] = {};
    fence();
    multiply(d, a, b);
    commit();
    for (int i = 0; i < 32; ++i) {
        d[i] *= 2.f;
    }
    wait<0>();
    store(c, d);
}

extern "C" __global__ void reads_accumulators(float* c, uint64_t a, uint64_t b, int n) {
    float d[32] = {};
    for (int k = 0; k < n; ++k) {
        fence();
        multiply(d, a + k, b);
        commit();
        wait<1>();
        if (k % 3 == 0) {
            store(c, d);
        }
    }
    wait<0>();
    store(c, d);
}

__device__ __noinline__ void product(float (&d)[32], uint64_t a, uint64_t b) {
    fence();
    multiply(d, a, b);
    commit();
    wait<0>();
}

extern "C" __global__ void calls(float* c, uint64_t a, uint64_t b) {
    float d[32] = {};
    product(d, a, b);
    store(c, d);
}

extern "C" __global__ void changes_registers(float* c) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    c[threadIdx.x] = 1;
}

extern "C" __global__ void __launch_bounds__(1024) spills(float* c, uint64_t a, uint64_t b) {
    float d[3][32] = {};
    for (int i = 0; i < 32; ++i) {
        d[2][i] = c[i];
    }
    fence();
    for (int i = 0; i < 3; ++i) {
        multiply(d[i], a + i, b);
    }
    commit();
    wait<0>();
    for (int i = 0; i < 3; ++i) {
        store(c + 4096 * i, d[i]);
    }
}
