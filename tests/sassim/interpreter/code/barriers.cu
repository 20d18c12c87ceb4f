// Barriers in shared memory, copies that they wait for, and groups of threads of libraries.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cstdint>
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda/ptx>

namespace cg = cooperative_groups;
namespace ptx = cuda::ptx;
using Barrier = cuda::barrier<cuda::thread_scope_block>;
using std::uint64_t;
#pragma nv_diag_suppress static_var_with_dynamic_init

extern "C" {

__global__ void arrive_and_wait(int* out, const int* in) {
    __shared__ Barrier b;
    __shared__ int s[128];
    const int t = threadIdx.x;
    if (t == 0) {
        init(&b, blockDim.x);
    }
    __syncthreads();
    for (int k = 0; k < 3; ++k) {
        s[t] = in[t] + k;
        auto token = b.arrive();
        const int v = in[t] * 2;
        b.wait(std::move(token));
        out[k * 128 + t] = s[t ^ 33] + v;
        b.arrive_and_wait();
    }
}

__global__ void pipeline(float* out, const float* in, int n) {
    __shared__ float s[2][128];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
    auto block = cg::this_thread_block();
    auto p = cuda::make_pipeline(block, &state);
    float sum = 0;
    for (int k = 0; k < n + 1; ++k) {
        if (k < n) {
            p.producer_acquire();
            cuda::memcpy_async(block, s[k & 1], in + k * 128, sizeof(float) * 128, p);
            p.producer_commit();
        }
        if (k > 0) {
            p.consumer_wait();
            sum += s[(k - 1) & 1][threadIdx.x ^ 1];
            p.consumer_release();
        }
    }
    out[threadIdx.x] = sum;
}

__global__ void pipeline_of_a_thread(float* out, const float* in, int n) {
    __shared__ float s[4][128];
    auto p = cuda::make_pipeline();
    for (int k = 0; k < n; ++k) {
        p.producer_acquire();
        cuda::memcpy_async(&s[k][threadIdx.x], in + k * 128 + threadIdx.x, 4, p);
        p.producer_commit();
    }
    cuda::pipeline_consumer_wait_prior<0>(p);
    float sum = 0;
    for (int k = 0; k < n; ++k) {
        sum += s[k][threadIdx.x];
    }
    p.consumer_release();
    out[threadIdx.x] = sum;
}

__global__ void copy_with_barrier(float* out, const float* in) {
    __shared__ Barrier b;
    __shared__ alignas(16) float s[256];
    auto block = cg::this_thread_block();
    if (block.thread_rank() == 0) {
        init(&b, block.size());
    }
    block.sync();
    cuda::memcpy_async(block, s, in, sizeof(s), b);
    b.arrive_and_wait();
    out[threadIdx.x] = s[255 - threadIdx.x];
}

__global__ void copy_of_group(float* out, const float* in) {
    __shared__ alignas(16) float s[256];
    auto block = cg::this_thread_block();
    cg::memcpy_async(block, s, in, sizeof(s));
    cg::wait(block);
    out[threadIdx.x] = s[255 - threadIdx.x];
}

__global__ void groups(int* out, const int* in) {
    auto block = cg::this_thread_block();
    auto tile = cg::tiled_partition<16>(block);
    const int t = threadIdx.x, v = in[t];
    out[t] = cg::reduce(tile, v, cg::plus<int>()) + cg::reduce(tile, v, cg::greater<int>()) * 3;
    out[128 + t] = cg::inclusive_scan(tile, v);
    if (v & 1) {
        auto odd = cg::coalesced_threads();
        out[256 + t] = odd.thread_rank() * 100 + odd.size();
        out[384 + t] = cg::reduce(odd, v, cg::plus<int>());
    }
    auto alike = cg::labeled_partition(tile, v & 3);
    out[512 + t] = cg::reduce(alike, v, cg::plus<int>()) * 10 + alike.size();
}

__global__ void atomics_of_libraries(int* out, int* p) {
    cuda::atomic_ref<int, cuda::thread_scope_device> r(*p);
    out[threadIdx.x] = r.fetch_add(threadIdx.x, cuda::memory_order_acq_rel);
    cuda::atomic_ref<float, cuda::thread_scope_block> f(*reinterpret_cast<float*>(p + 1));
    f.fetch_add(1.5f);
    __syncthreads();
    out[64 + threadIdx.x] = r.load(cuda::memory_order_acquire);
    int wanted = 2016;
    out[128 + threadIdx.x] = r.compare_exchange_strong(wanted, 5);
}

#if __CUDA_ARCH__ >= 900
__global__ void bulk(float* out, const float* in, int n) {
    __shared__ alignas(128) float s[256];
    __shared__ uint64_t bar;
    if (threadIdx.x == 0) {
        ptx::mbarrier_init(&bar, 1);
        ptx::fence_proxy_async(ptx::space_shared);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &bar,
                                       n * 4);
        ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, s, in, n * 4, &bar);
    }
    while (!ptx::mbarrier_try_wait_parity(&bar, 0)) {
    }
    s[threadIdx.x] *= 2;
    ptx::fence_proxy_async(ptx::space_shared);
    __syncthreads();
    if (threadIdx.x == 0) {
        ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, out, s, n * 4);
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());
    }
}

__global__ void asks(int* out, const int* in) {
    __shared__ uint64_t bar;
    __shared__ int s[64];
    if (threadIdx.x == 0) {
        ptx::mbarrier_init(&bar, 64);
    }
    __syncthreads();
    s[threadIdx.x] = in[threadIdx.x];
    auto token = ptx::mbarrier_arrive(&bar);
    while (!ptx::mbarrier_test_wait(&bar, token)) {
    }
    out[threadIdx.x] = s[63 - threadIdx.x];
}

// One warp looks after two barriers; it must not wait at the first for ever.
__global__ void asks_two(int* out, int which) {
    __shared__ uint64_t bars[2];
    if (threadIdx.x == 0) {
        ptx::mbarrier_init(bars, 1);
        ptx::mbarrier_init(bars + 1, 1);
    }
    __syncthreads();
    if (threadIdx.x == 32) {
        ptx::mbarrier_arrive(bars + which);
    }
    if (threadIdx.x < 32) {
        int found = -1;
        while (found < 0) {
            if (ptx::mbarrier_try_wait_parity(bars, 0)) {
                found = 0;
            } else if (ptx::mbarrier_try_wait_parity(bars + 1, 0)) {
                found = 1;
            }
        }
        out[threadIdx.x] = found;
    }
}

__global__ void waits_for_nobody(int* out) {
    __shared__ uint64_t bar;
    if (threadIdx.x == 0) {
        ptx::mbarrier_init(&bar, 33);
    }
    __syncthreads();
    ptx::mbarrier_arrive(&bar);
    while (!ptx::mbarrier_try_wait_parity(&bar, 0)) {
    }
    out[threadIdx.x] = 1;
}

__global__ void __cluster_dims__(2, 1, 1) stores_to_neighbour(int* out, const int* in) {
    __shared__ alignas(16) int s[64];
    __shared__ uint64_t bar;
    uint32_t rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    if (threadIdx.x == 0) {
        ptx::mbarrier_init(&bar, 1);
        ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
    }
    ptx::barrier_cluster_arrive();
    ptx::barrier_cluster_wait();
    if (threadIdx.x == 0) {
        ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &bar,
                                       256);
    }
    const uint32_t here = static_cast<uint32_t>(__cvta_generic_to_shared(s + threadIdx.x));
    const uint32_t bar_here = static_cast<uint32_t>(__cvta_generic_to_shared(&bar));
    uint32_t there, bar_there;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(here), "r"(rank ^ 1));
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(bar_there) : "r"(bar_here), "r"(rank ^ 1));
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];" ::"r"(
                     there),
                 "r"(in[threadIdx.x] + 1000 * static_cast<int>(rank)), "r"(bar_there)
                 : "memory");
    while (!ptx::mbarrier_try_wait_parity(&bar, 0)) {
    }
    out[rank * 64 + threadIdx.x] = s[threadIdx.x];
    ptx::barrier_cluster_arrive();
    ptx::barrier_cluster_wait();
}
#endif

}  // extern "C"
