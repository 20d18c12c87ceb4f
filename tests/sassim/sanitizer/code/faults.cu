// /// kernelprof
// kernel = "clean"
// block = [256]
// grid = [4]
// reference = "none"
//
// [sizes]
// n = 1000
//
// [[arguments]]
// name = "x"
// type = "float32"
// shape = ["n"]
//
// [[arguments]]
// name = "y"
// type = "float32"
// shape = ["n"]
// output = true
//
// [[arguments]]
// name = "n"
// type = "int32"
// value = "n"
// ///
// Each kernel has one mistake, in the line that ends in "here" and a word for it, or none at all.
#define AT (blockIdx.x * blockDim.x + threadIdx.x)
#define OUT(value) if (AT < n) y[AT] = value
#define KERNEL(name) extern "C" __global__ void name(const float* x, float* y, int n)

KERNEL(clean) {
    OUT(x[AT]);
}

// Outside of arrays.
KERNEL(past_the_end) {
    y[AT] = x[AT];  // here: read
}

KERNEL(writes_past_the_end) {
    y[AT] = 2.0f;  // here: write
}

KERNEL(before_the_start) {
    float left = x[int(AT) - 2];  // here: read
    OUT(left);
}

KERNEL(far_outside) {
    float far = x[size_t(AT + 1) << 20];  // here: read
    OUT(far);
}

KERNEL(partly_outside) {
    float4 four = reinterpret_cast<const float4*>(x)[threadIdx.x];  // here: read
    OUT(four.x + four.y + four.z + four.w);
}

KERNEL(misaligned) {
    float4 four = *reinterpret_cast<const float4*>(x + threadIdx.x);  // here: read
    OUT(four.x + four.y + four.z + four.w);
}

__device__ const float* table;
KERNEL(null_pointer) {
    float value = table[threadIdx.x + 1];  // here: read
    OUT(value);
}

KERNEL(shared_outside) {
    __shared__ float tile[257];
    tile[threadIdx.x + 2] = x[0];  // here: write
    __syncthreads();
    OUT(tile[threadIdx.x + 2]);
}

KERNEL(local_outside) {
    float own[64];
    for (int i = 0; i < n / 16; ++i) own[i ^ (threadIdx.x & 1)] = x[i];
    float one = own[threadIdx.x % 65];  // here: read
    OUT(one);
}

KERNEL(atomic_outside) {
    atomicAdd(y + n + threadIdx.x, 1.0f);  // here: atomic
}

__device__ __forceinline__ float fetched(const float* from, int at) {
    return __ldg(from + at);  // here: inlined
}
KERNEL(inlined) {
    float value = fetched(x, n + threadIdx.x);
    OUT(value);
}

// Never written.
KERNEL(reads_output) {
    if (AT < n) y[AT] += 1.0f;  // here: read
}

KERNEL(shared_unwritten) {
    __shared__ float tile[256];
    if (threadIdx.x != 70) tile[threadIdx.x] = x[0];
    __syncthreads();
    float other = tile[255 - threadIdx.x];  // here: read
    OUT(other);
}

KERNEL(half_unwritten) {
    __shared__ unsigned short half[512];
    half[2 * threadIdx.x] = n;
    __syncthreads();
    unsigned both = reinterpret_cast<unsigned*>(half)[threadIdx.x];  // here: read
    OUT(both);
}

// Races.
KERNEL(read_after_write) {
    __shared__ float tile[256];
    tile[threadIdx.x] = x[threadIdx.x];  // here: write
    float other = tile[threadIdx.x ^ 32];  // here: read
    OUT(other);
}

KERNEL(write_after_read) {
    __shared__ float tile[256];
    tile[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    float other = tile[threadIdx.x ^ 64];  // here: read
    tile[threadIdx.x] = other;  // here: write
    __syncthreads();
    OUT(tile[threadIdx.x ^ 1]);
}

KERNEL(write_after_write) {
    __shared__ float tile[32];
    tile[threadIdx.x % 32] = x[threadIdx.x];  // here: write
    __syncthreads();
    OUT(tile[threadIdx.x % 32]);
}

KERNEL(atomic_and_write) {
    __shared__ unsigned count[32];
    if (threadIdx.x < 32) count[threadIdx.x] = 0;  // here: write
    atomicAdd(&count[threadIdx.x % 32], n);  // here: atomic
    __syncthreads();
    OUT(count[threadIdx.x % 32]);
}

KERNEL(atomic_and_read) {
    __shared__ unsigned count[32];
    if (threadIdx.x < 32) count[threadIdx.x] = 0;
    __syncthreads();
    atomicAdd(&count[threadIdx.x % 32], n);  // here: atomic
    OUT(count[threadIdx.x % 32]);  // here: read
}

// Copies of 16 bytes that go on behind a thread's back.
__device__ __forceinline__ void copy(void* to, const void* from) {
    unsigned at = __cvta_generic_to_shared(to);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at), "l"(from) : "memory");  // here: copy
}
#define COMMIT asm volatile("cp.async.commit_group;" ::: "memory")
#define WAIT(left) asm volatile("cp.async.wait_group %0;" ::"n"(left) : "memory")

KERNEL(copy_not_waited_for) {
    __shared__ float4 tile[256];
    copy(&tile[threadIdx.x], x + threadIdx.x % 128 * 4);
    COMMIT;
    __syncthreads();
    OUT(tile[threadIdx.x].x);  // here: read
}

KERNEL(newest_copy_not_waited_for) {
    __shared__ float4 tile[2][256];
    copy(&tile[0][threadIdx.x], x + threadIdx.x % 128 * 4);
    COMMIT;
    copy(&tile[1][threadIdx.x], x + threadIdx.x % 64 * 4);
    COMMIT;
    WAIT(1);
    __syncthreads();
    float first = tile[0][threadIdx.x ^ 32].x;
    float second = tile[1][threadIdx.x].x;  // here: read
    OUT(first + second);
}

KERNEL(copy_of_another_warp) {
    __shared__ float4 tile[256];
    copy(&tile[threadIdx.x], x + threadIdx.x % 128 * 4);
    COMMIT;
    __syncthreads();
    WAIT(0);
    OUT(tile[threadIdx.x ^ 32].x);  // here: read
}

KERNEL(copies) {
    __shared__ float4 tile[2][256];
    float sum = 0;
    copy(&tile[0][threadIdx.x], x + threadIdx.x % 128 * 4);
    COMMIT;
    for (int i = 0; i < 4; ++i) {
        copy(&tile[~i & 1][threadIdx.x], x + (threadIdx.x + i) % 128 * 4);
        COMMIT;
        WAIT(1);
        __syncthreads();
        sum += tile[i & 1][threadIdx.x ^ 32].x;
        __syncthreads();
    }
    OUT(sum);
}

// Copies that an mbarrier says have come.
__device__ __forceinline__ unsigned new_barrier(void* bar, int threads) {
    unsigned at = __cvta_generic_to_shared(bar);
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(at), "r"(threads) : "memory");
    }
    __syncthreads();
    return at;
}
__device__ __forceinline__ void wait_for(unsigned bar) {
    int ended = 0;
    while (!ended) {
        asm volatile("{\n.reg .pred p;\n"
                     "mbarrier.try_wait.parity.shared.b64 p, [%1], 0;\n"
                     "selp.b32 %0, 1, 0, p;\n}" : "=r"(ended) : "r"(bar) : "memory");  // here: wait
    }
}

KERNEL(copies_with_barrier) {
    __shared__ float4 tile[256];
    __shared__ unsigned long long bar;
    unsigned at = new_barrier(&bar, 256);
    copy(&tile[threadIdx.x], x + threadIdx.x % 128 * 4);
    asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(at) : "memory");
    wait_for(at);
    OUT(tile[threadIdx.x ^ 32].x);
}

KERNEL(copy_in_bulk) {
    __shared__ alignas(16) float tile[256];
    __shared__ unsigned long long bar;
    unsigned at = new_barrier(&bar, 1), to = __cvta_generic_to_shared(tile);
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], 1024;" ::"r"(at) : "memory");
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
                     "[%0], [%1], 1024, [%2];" ::"r"(to), "l"(x), "r"(at) : "memory");
    }
    wait_for(at);
    OUT(tile[threadIdx.x ^ 32]);
}

KERNEL(one_never_arrives) {
    __shared__ unsigned long long bar;
    unsigned at = new_barrier(&bar, 257);
    asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(at) : "memory");
    wait_for(at);
    OUT(x[0]);
}

KERNEL(bulk_outside) {
    __shared__ alignas(16) float tile[256];
    __shared__ unsigned long long bar;
    unsigned at = new_barrier(&bar, 1), to = __cvta_generic_to_shared(tile);
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], 1024;" ::"r"(at) : "memory");
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
                     "[%0], [%1], 1024, [%2];" ::"r"(to), "l"(x + 768), "r"(at) : "memory");  // here: read
    }
    wait_for(at);
    OUT(tile[threadIdx.x]);
}

// A barrier of two warps that spin on a count in shared memory.
KERNEL(polls) {
    __shared__ unsigned come;
    if (threadIdx.x == 0) come = 0;
    __syncthreads();
    if (threadIdx.x % 32 == 0) {
        atomicAdd(&come, 1);
        while (*(volatile unsigned*)&come < 8) {
        }
    }
    __syncwarp();
    OUT(x[AT]);
}

KERNEL(no_race) {
    __shared__ float tile[256];
    __shared__ unsigned char bytes[256];
    __shared__ unsigned count[32];
    __shared__ int flag;
    tile[threadIdx.x] = x[threadIdx.x];
    bytes[threadIdx.x] = n;
    if (threadIdx.x < 32) count[threadIdx.x] = 0;
    flag = n;
    __syncthreads();
    float other = tile[threadIdx.x ^ 32] + bytes[threadIdx.x ^ 32] + flag;
    atomicAdd(&count[threadIdx.x % 32], n);
    __syncthreads();
    tile[threadIdx.x] = other + count[threadIdx.x % 32];
    __syncthreads();
    OUT(tile[threadIdx.x ^ 32]);
}

// Barriers.
KERNEL(parts_of_a_warp) {
    __shared__ float tile[256];
    tile[threadIdx.x] = x[threadIdx.x];
    if (threadIdx.x % 2) {
        tile[threadIdx.x] *= x[1];
        __syncthreads();  // here: odd
        tile[threadIdx.x ^ 32] *= x[2];
    } else {
        tile[threadIdx.x] *= x[3];
        __syncthreads();  // here: even
        tile[threadIdx.x ^ 64] *= x[4];
    }
    __syncthreads();
    OUT(tile[threadIdx.x]);
}

KERNEL(parts_of_a_block) {
    __shared__ float tile[256];
    tile[threadIdx.x] = x[threadIdx.x];
    if (threadIdx.x < 64) {
        tile[threadIdx.x] *= x[1];
        __syncthreads();  // here: first
        tile[threadIdx.x] *= x[2];
    } else {
        tile[threadIdx.x] *= x[3];
        __syncthreads();  // here: second
        tile[threadIdx.x] *= x[4];
    }
    OUT(tile[threadIdx.x]);
}

KERNEL(half_a_warp) {
    __shared__ float tile[256];
    tile[threadIdx.x] = x[threadIdx.x];
    for (int i = threadIdx.x % 32; i < 16; i += n) {
        tile[threadIdx.x] += x[i];
        __syncthreads();  // here: inner
    }
    tile[threadIdx.x ^ 32] += x[3];
    __syncthreads();  // here: outer
    OUT(tile[threadIdx.x]);
}

KERNEL(too_few_come) {
    if (threadIdx.x < 64) {
        asm volatile("bar.sync 1, 128;" ::: "memory");  // here: barrier
    }
    OUT(x[0]);
}

KERNEL(some_leave_early) {
    __shared__ float tile[256];
    if (AT >= n) return;
    tile[threadIdx.x] = x[AT];
    __syncthreads();
    y[AT] = tile[threadIdx.x & ~31];
}

KERNEL(named_barriers) {
    __shared__ float tile[256];
    tile[threadIdx.x] = x[threadIdx.x];
    if (threadIdx.x < 128) {
        asm volatile("bar.sync 1, 128;" ::: "memory");
    } else {
        asm volatile("bar.sync 2, 128;" ::: "memory");
    }
    OUT(tile[threadIdx.x ^ 32]);
}

// Stops, or never ends.
#include <cassert>
KERNEL(asserts) {
    assert(AT < n);  // here: assert
    OUT(x[AT]);
}

KERNEL(traps) {
    if (AT == 77) __trap();  // here: trap
    OUT(x[AT]);
}

__device__ volatile int ready;
KERNEL(waits_for_nobody) {
    if (AT == 300) {
        while (!ready) {  // here: loop
        }
    }
    OUT(x[0]);
}

KERNEL(adds_until) {
    __shared__ volatile unsigned count;
    if (threadIdx.x == 0) {
        count = 0;
        while (count < 6000) count = count + 1;
        y[0] = count;
    }
}

KERNEL(counts_on) {
    unsigned at = AT;
    float sum = 0.0f;
    while (at != 1001) {  // here: loop
        sum += x[at % n];
        at += 2;
    }
    OUT(sum);
}
