// Ways that the threads of a warp, a block and a cluster part, meet and wait. Each kernel is small,
// and a test works out what it gives.
#include <cassert>
#include <cstdio>

using uint = unsigned int;
constexpr uint EVERYONE = 0xffffffffu;

extern "C" {

// Both sides of a branch shuffle with all threads: they meet in one instruction.
__global__ void shuffles_apart(int* out, const int* in) {
    const int v = in[threadIdx.x];
    int r;
    if (threadIdx.x & 1) {
        r = __shfl_sync(EVERYONE, v, 5) * 3;
    } else {
        r = __shfl_sync(EVERYONE, v + 1, 8) + 2;
    }
    out[threadIdx.x] = r;
}

// Threads leave a loop at different turns, and those that are left vote.
__global__ void votes_in_loop(int* out, const int* in) {
    const int v = in[threadIdx.x];
    int r = 0;
#pragma unroll 1
    for (int k = 0; k < v; ++k) {
        if (__any_sync(__activemask(), v == k + 3)) {
            r += 1 << k;
        }
    }
    out[threadIdx.x] = r;
}

// Halves of a warp with masks of their own, on two sides of a branch.
__global__ void halves(int* out, const int* in) {
    const int v = in[threadIdx.x];
    int r;
    if (threadIdx.x < 16) {
        r = __shfl_xor_sync(0xffffu, v, 3);
        __syncwarp(0xffffu);
        r += __ballot_sync(0xffffu, v & 2);
    } else {
        r = __shfl_up_sync(0xffff0000u, v, 1, 16);
        r ^= __ballot_sync(0xffff0000u, v & 1);
        r += __all_sync(0xffff0000u, v >= 0) + 2 * __any_sync(0xffff0000u, v > 900);
    }
    out[threadIdx.x] = r;
}

// Groups of a warp with masks that are known when it runs, at the same place.
__global__ void groups(int* out, const int* in, int size) {
    const int v = in[threadIdx.x];
    const uint ones = size == 32 ? EVERYONE : (1u << size) - 1;
    const uint mask = ones << (threadIdx.x / size * size);
    int r = __ballot_sync(mask, v & 1);
    r += __shfl_sync(mask, v, 1, size);
    r += __any_sync(mask, v > 900) * 3;
    __syncwarp(mask);
    out[threadIdx.x] = r;
}

#if __CUDA_ARCH__ >= 800
__global__ void reductions(int* out, const int* in, int size) {
    const int v = in[threadIdx.x];
    const uint ones = size == 32 ? EVERYONE : (1u << size) - 1;
    const uint mask = ones << (threadIdx.x / size * size);
    out[threadIdx.x] = __reduce_add_sync(mask, v);
    out[32 + threadIdx.x] = __reduce_max_sync(mask, v);
    out[64 + threadIdx.x] = __reduce_xor_sync(mask, static_cast<uint>(v));
}
#endif

__global__ void matches(uint* out, const int* in) {
    const int v = in[threadIdx.x];
    const unsigned long long w = static_cast<unsigned long long>(v & 1) << 40;
    int same, same_wide;
    out[threadIdx.x] = __match_any_sync(EVERYONE, v & 3);
    out[32 + threadIdx.x] = __match_all_sync(EVERYONE, v >> 16, &same);
    out[64 + threadIdx.x] = __match_any_sync(EVERYONE, w);
    out[96 + threadIdx.x] = __match_all_sync(EVERYONE, w, &same_wide);
    out[128 + threadIdx.x] = same + 2 * same_wide;
}

__global__ void block_votes(int* out, const int* in) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int v = in[i];
    const int count = __syncthreads_count(v & 1);
    const int all = __syncthreads_and(v >= 0);
    const int any = __syncthreads_or(v > 900);
    out[i] = count * 4 + (all != 0) * 2 + (any != 0);
}

// Two warps bring values, two take them; a barrier of their own besides.
__global__ void named_barriers(int* out, const int* in) {
    __shared__ int s[64];
    const int t = threadIdx.x;
    if (t < 64) {
        s[t] = in[t] * 2;
        asm volatile("bar.arrive 1, 128;" ::: "memory");
        asm volatile("bar.sync 2, 64;" ::: "memory");
        out[t] = s[t ^ 32];
    } else {
        asm volatile("bar.sync 1, 128;" ::: "memory");
        out[t] = s[t - 64] + 1;
    }
}

// A barrier whose number and count are known when it runs, and one that counts.
__global__ void barriers_by_number(int* out, const int* in, int number, int count) {
    __shared__ int s[64];
    const int t = threadIdx.x;
    if (t < 64) {
        s[t] = in[t] * 2;
        asm volatile("bar.sync %0, %1;" ::"r"(number), "r"(count) : "memory");
        out[t] = s[63 - t];
    }
    int found;
    asm volatile(
        "{.reg .pred p; setp.ne.s32 p, %1, 0; bar.red.popc.u32 %0, 3, %2, p;}"
        : "=r"(found)
        : "r"(t & 3), "r"(128));
    out[64 + t] = found;
}

__global__ void switches(int* out, const int* in) {
    const int v = in[threadIdx.x];
    int r;
    switch (v) {
        case 0: r = in[5] + 1; break;
        case 1: r = v * 7; break;
        case 2: r = in[7] - 3; break;
        case 3: r = v ^ in[1]; break;
        case 4: r = v << in[3]; break;
        case 5: r = __popc(v + in[0]); break;
        case 6: r = __clz(v); break;
        case 7: r = __brev(v); break;
        case 8: r = v / in[2]; break;
        default: r = -1;
    }
    out[threadIdx.x] = r;
}

}  // extern "C"

typedef int (*Function)(int, int);
__device__ __noinline__ int sum(int a, int b) { return a + b; }
__device__ __noinline__ int product(int a, int b) { return a * b; }
__device__ __noinline__ int difference(int a, int b) { return a - b; }
__device__ Function table[3] = {sum, product, difference};
__device__ __noinline__ int fibonacci(int n) {
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}
__device__ __noinline__ int total(const int* p, int n) {
    int s = 0;
    for (int k = 0; k < n; ++k) {
        s += p[k];
    }
    return s;
}
__device__ int somewhere = 40;
__device__ int* pointer = &somewhere;

extern "C" {

__global__ void function_pointers(int* out, int which) {
    out[threadIdx.x] = table[(threadIdx.x + which) % 3](threadIdx.x, 7);
}

__global__ void recursion(int* out) { out[threadIdx.x] = fibonacci(threadIdx.x % 9); }

__global__ void stack(int* out, int n) {
    int* p = static_cast<int*>(alloca(4 * (n + threadIdx.x)));
    for (int k = 0; k < n; ++k) {
        p[k] = k * k + threadIdx.x;
    }
    out[threadIdx.x] = total(p, n);
}

__global__ void variables(int* out) {
    atomicAdd(&somewhere, 1);
    __syncthreads();
    out[threadIdx.x] = *pointer;
}

__global__ void prints(int* out, int n) {
    if (threadIdx.x < 3) {
        out[threadIdx.x] = printf("thread %d of %d: %5.*f%%\n", threadIdx.x, n, 2, 1.5);
    }
}

__global__ void asserts(int* out, int n) {
    assert(threadIdx.x < n);
    out[threadIdx.x] = n;
}

__global__ void traps(int* out, int n) {
    if (threadIdx.x >= n) {
        __trap();
    }
    out[threadIdx.x] = n;
}

__global__ void waits_for_ever(int* out) {
    if (threadIdx.x < 32) {
        asm volatile("bar.sync 1, 96;" ::: "memory");
    }
    out[threadIdx.x] = 1;
}

__global__ void reads_clock(long long* out) { out[threadIdx.x] = clock64(); }

__global__ void reads_processor(uint* out) {
    uint found;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(found));
    out[threadIdx.x] = found;
}

__global__ void lane_masks(uint* out) {
    uint v;
    asm volatile("mov.u32 %0, %%lanemask_lt;" : "=r"(v));
    out[threadIdx.x] = v;
    asm volatile("mov.u32 %0, %%lanemask_le;" : "=r"(v));
    out[32 + threadIdx.x] = v;
    asm volatile("mov.u32 %0, %%lanemask_gt;" : "=r"(v));
    out[64 + threadIdx.x] = v;
    asm volatile("mov.u32 %0, %%lanemask_ge;" : "=r"(v));
    out[96 + threadIdx.x] = v;
    asm volatile("mov.u32 %0, %%lanemask_eq;" : "=r"(v));
    out[128 + threadIdx.x] = v;
}

#if __CUDA_ARCH__ >= 900
__global__ void __cluster_dims__(2, 2, 1) cluster(int* out) {
    __shared__ int s[32];
    uint rank, size, x, y, clusters;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));
    asm volatile("mov.u32 %0, %%cluster_ctaid.x;" : "=r"(x));
    asm volatile("mov.u32 %0, %%clusterid.y;" : "=r"(y));
    asm volatile("mov.u32 %0, %%nclusterid.x;" : "=r"(clusters));
    const int block = blockIdx.y * gridDim.x + blockIdx.x;
    s[threadIdx.x] = threadIdx.x + 100 * block;
    asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
    uint mine = static_cast<uint>(__cvta_generic_to_shared(s + threadIdx.x)), other;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(other) : "r"(mine), "r"(rank ^ 1));
    int found;
    asm volatile("ld.shared::cluster.s32 %0, [%1];" : "=r"(found) : "r"(other) : "memory");
    asm volatile("red.shared::cluster.add.s32 [%0], 5;" ::"r"(other) : "memory");
    asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
    int* to = out + block * 64 + threadIdx.x;
    to[0] = found * 2 + s[threadIdx.x];
    to[32] = ((rank * 10 + size) * 10 + x) * 100 + y * 10 + clusters;
}
#endif

}  // extern "C"
