// Accesses to memory of all kinds, and atomics. Each kernel is small, and a test works out what it
// gives.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

using uint = unsigned int;
using u64 = unsigned long long;

__device__ __noinline__ float add_to(float* p, float v) {
    *p += v;
    return *p;
}
__device__ __noinline__ int count_at(int* p, int v) { return atomicAdd(p, v); }
__device__ __noinline__ void set(int* p, int i, int v) { p[i] = v; }

struct Mixed {
    double a;
    float b;
    short c;
    signed char d;
};

__constant__ float weights[64] = {1, 2, 3, 5, 8, 13, 21, 34};
__constant__ unsigned char letters[256] = "the quick brown fox jumps over the lazy dog";

extern "C" {

// One function for global, shared and local memory: which = 0, 1, 2.
__global__ void generic(float* out, int* counts, int which) {
    __shared__ float tile[64];
    __shared__ int total;
    float mine[8];
    for (int k = 0; k < 8; ++k) {
        mine[k] = k * which;
    }
    const int t = threadIdx.x;
    tile[t] = t;
    if (t == 0) {
        total = 0;
    }
    __syncthreads();
    float* p = which == 0 ? out + t : which == 1 ? tile + t : mine + (t & 7);
    const float r = add_to(p, 2.0f);
    const int before = count_at(t & 1 ? counts : &total, t);
    __syncthreads();
    out[64 + t] = r + mine[t & 7] + tile[t];
    counts[1 + t] = before;
    counts[65 + t] = total + (__isShared(p) ? 1000 : 0) + (__isGlobal(p) ? 2000 : 0) +
                     (__isLocal(p) ? 4000 : 0);
    counts[129] = static_cast<int>(__cvta_generic_to_shared(tile + 3) -
                                   __cvta_generic_to_shared(tile));
}

// Threads of a warp reach three kinds of memory with one instruction.
__global__ void mixed_spaces(float* out) {
    __shared__ float tile[32];
    float mine[4] = {1, 2, 3, 4};
    const int t = threadIdx.x;
    tile[t] = 100 + t;
    out[t] = 200 + t;
    __syncwarp();
    float* p = t % 3 == 0 ? out + t : t % 3 == 1 ? tile + t : mine + (t & 3);
    const float r = add_to(p, 0.5f);
    out[32 + t] = r;
}

#if __CUDA_ARCH__ >= 800
// 16 bytes at once, of which the last ones may be zeros.
__global__ void copy_with_zeros(float* out, const float* in, int n) {
    __shared__ __align__(16) float s[256];
    const int i = threadIdx.x * 4;
    const int left = max(0, min(16, (n - i) * 4));
    const uint to = static_cast<uint>(__cvta_generic_to_shared(s + i));
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to),
                 "l"(in + (left > 0 ? i : 0)), "r"(left));
    asm volatile("cp.async.commit_group; cp.async.wait_group 0;");
    __syncthreads();
    for (int k = 0; k < 4; ++k) {
        out[i + k] = s[255 - i - k];
    }
}

__global__ void copy_or_zero(float* out, const float* in, int n) {
    __shared__ float s[64];
    const int i = threadIdx.x;
    s[i] = -1;
    __syncthreads();
    const uint to = static_cast<uint>(__cvta_generic_to_shared(s + i));
    asm volatile(
        "{.reg .pred p; setp.ge.s32 p, %2, %3;"
        " cp.async.ca.shared.global [%0], [%1], 4, p;}" ::"r"(to),
        "l"(in + i), "r"(i), "r"(n));
    asm volatile("cp.async.commit_group; cp.async.wait_group 0;");
    __syncthreads();
    out[i] = s[63 - i];
}
#endif

__global__ void shared_float_sum(float* out) {
    __shared__ float sum;
    if (threadIdx.x == 0) {
        sum = 0;
    }
    __syncthreads();
    const float before = atomicAdd(&sum, static_cast<float>(threadIdx.x));
    __syncthreads();
    out[threadIdx.x] = before;
    out[blockDim.x] = sum;
}

__global__ void shared_double_sum(double* out) {
    __shared__ double sum;
    if (threadIdx.x == 0) {
        sum = 0.5;
    }
    __syncthreads();
    atomicAdd(&sum, static_cast<double>(threadIdx.x) * 0.25);
    __syncthreads();
    out[threadIdx.x] = sum;
}

__global__ void shared_half_sum(__half2* out) {
    __shared__ __half2 sum;
    if (threadIdx.x == 0) {
        sum = __float2half2_rn(0);
    }
    __syncthreads();
    atomicAdd(&sum, __floats2half2_rn(1, 2));
    __syncthreads();
    out[threadIdx.x] = sum;
}

__global__ void half_sums(__half2* out, __half* one) {
    atomicAdd(out + (threadIdx.x & 1), __floats2half2_rn(1, 2));
    atomicAdd(one + threadIdx.x % 3, __float2half(1));
}

#if __CUDA_ARCH__ >= 900
__global__ void brain_sums(__nv_bfloat162* out) {
    atomicAdd(out + (threadIdx.x & 1), __floats2bfloat162_rn(1, 2));
}

__global__ void vector_sums(float2* out) {
    const float2 before = atomicAdd(out, make_float2(1, 2));
    out[1 + threadIdx.x] = before;
}
#endif

__global__ void atomics(int* q, int* old, int v) {
    const int t = threadIdx.x;
    old[t] = atomicAdd(q, t);
    old[32 + t] = atomicSub(q + 1, t);
    old[64 + t] = atomicMax(q + 2, t * 7 % 31 + v);
    old[96 + t] = atomicMin(reinterpret_cast<uint*>(q + 3), static_cast<uint>(-t));
    old[128 + t] = atomicAnd(q + 4, ~(1 << t));
    old[160 + t] = atomicOr(q + 5, 1 << t);
    old[192 + t] = atomicXor(q + 6, 3 << t);
    old[224 + t] = atomicExch(q + 7, t);
    old[256 + t] = atomicInc(reinterpret_cast<uint*>(q + 8), 9);
    old[288 + t] = atomicDec(reinterpret_cast<uint*>(q + 9), 5);
    old[320 + t] = atomicCAS(q + 10, t, t + 1);
}

__global__ void atomics_unused(int* q) {
    const int t = threadIdx.x;
    atomicAdd(q, t);
    atomicMax(q + 1, t * 7 % 31);
    atomicMin(q + 2, -t);
    atomicAnd(q + 3, ~(1 << t));
    atomicOr(q + 4, 1 << t);
    atomicXor(q + 5, 3 << t);
    atomicInc(reinterpret_cast<uint*>(q + 6), 9);
    atomicDec(reinterpret_cast<uint*>(q + 7), 5);
    atomicExch(q + 8, t);
}

__global__ void atomics_wide(u64* q, u64* old) {
    const int t = threadIdx.x;
    old[t] = atomicAdd(q, static_cast<u64>(t) << 33);
    old[32 + t] = atomicMax(q + 1, static_cast<u64>(t * 7 % 31) << 40);
    old[64 + t] = atomicMin(reinterpret_cast<long long*>(q + 2), -static_cast<long long>(t));
    old[96 + t] = atomicExch(q + 3, static_cast<u64>(t) << 35);
    old[128 + t] = atomicCAS(q + 4, static_cast<u64>(t) << 40, static_cast<u64>(t + 1) << 40);
    atomicXor(q + 5, static_cast<u64>(3) << t);
}

__global__ void atomics_floating(float* f, double* d, float* before) {
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    before[t] = atomicAdd(f, 1.0f);
    atomicAdd(f + 1 + t % 3, 0.5f);
    atomicAdd(d, 0.25);
}

__global__ void atomics_shared(int* out, int v) {
    __shared__ int s[8];
    const int t = threadIdx.x;
    if (t < 8) {
        s[t] = v;
    }
    __syncthreads();
    const int a = atomicAdd(s + (t & 3), 1);
    const int b = atomicMax(s + 4, t * 11 % 37);
    const int c = atomicExch(s + 5, t);
    const int d = atomicCAS(s + 6, v + t, v + t + 1);
    __syncthreads();
    out[t] = a + 100 * b + 10000 * c;
    out[32 + t] = d;
    if (t < 8) {
        out[64 + t] = s[t];
    }
}

__global__ void lock(int* out, int* mutex, int* sum) {
    // Each block takes its turn.
    if (threadIdx.x == 0) {
        while (atomicCAS(mutex, 0, 1) != 0) {
        }
        __threadfence();
        const int seen = *reinterpret_cast<volatile int*>(sum);
        *reinterpret_cast<volatile int*>(sum) = seen + static_cast<int>(blockIdx.x);
        __threadfence();
        atomicExch(mutex, 0);
        out[blockIdx.x] = seen;
    }
}

__global__ void structures(Mixed* out, const Mixed* in) {
    Mixed m = in[threadIdx.x ^ 1];
    m.a += m.b;
    m.c = static_cast<short>(m.c * 2);
    m.d = static_cast<signed char>(m.d - 1);
    out[threadIdx.x] = m;
}

__global__ void vectors(float4* out, const float4* in, ushort4* small, const uchar4* bytes) {
    const int t = threadIdx.x;
    const float4 v = in[31 - t];
    out[t] = make_float4(v.w, v.z, v.y, v.x);
    const uchar4 b = bytes[t];
    small[t] = make_ushort4(b.w, b.z, b.y, b.x);
}

__global__ void constants(float* out, const int* at) {
    const int i = at[threadIdx.x];
    out[threadIdx.x] = weights[i] + letters[i * 2 + 1];
}

__global__ void parameters(int* out, char a, short b, long long c, bool d, float4 e) {
    const float parts[4] = {e.x, e.y, e.z, e.w};
    out[threadIdx.x] = a + b + static_cast<int>(c >> 32) + d + parts[threadIdx.x & 3];
}

__global__ void local_array(int* out, const int* at) {
    int mine[16];
    for (int k = 0; k < 16; ++k) {
        mine[k] = k * k + threadIdx.x;
    }
    set(mine, at[threadIdx.x], -1);
    out[threadIdx.x] = mine[at[threadIdx.x] ^ 1] + mine[at[threadIdx.x]];
}

extern __shared__ __align__(128) int dynamic[];
__global__ void dynamic_shared(int* out) {
    __shared__ int s[65];
    uint size;
    asm volatile("mov.u32 %0, %%dynamic_smem_size;" : "=r"(size));
    s[threadIdx.x] = threadIdx.x;
    dynamic[threadIdx.x] = 2 * threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = s[31 - threadIdx.x] + dynamic[threadIdx.x ^ 3] + 1000 * size;
}

// Accesses that must not be: where = 0 to 5.
__global__ void wrong(int* out, const int* in, int by, int where) {
    __shared__ int s[32];
    const int t = threadIdx.x;
    s[t] = t;
    __syncthreads();
    if (where == 0) {
        out[t] = in[t + by];
    } else if (where == 1) {
        out[t + by] = t;
    } else if (where == 2) {
        out[t] = s[t + by];
    } else if (where == 3) {
        s[t + by] = 1;
    } else if (where == 4) {
        out[t] = *reinterpret_cast<const int*>(reinterpret_cast<const char*>(in) + 4 * t + by);
    } else if (where == 5) {
        atomicAdd(out + t + by, 1);
    }
}

#if __CUDA_ARCH__ >= 1000
__global__ void wide_vectors(float* out, const float* in) {
    float a, b, c, d, e, f, g, h;
    asm volatile("ld.global.v8.f32 {%0,%1,%2,%3,%4,%5,%6,%7},[%8];"
                 : "=f"(a), "=f"(b), "=f"(c), "=f"(d), "=f"(e), "=f"(f), "=f"(g), "=f"(h)
                 : "l"(in + 8 * threadIdx.x));
    asm volatile("st.global.v8.f32 [%8],{%0,%1,%2,%3,%4,%5,%6,%7};" ::"f"(h), "f"(a), "f"(b),
                 "f"(c), "f"(d), "f"(e), "f"(f), "f"(g), "l"(out + 8 * threadIdx.x));
}
#endif

}  // extern "C"
