// A program as people have one: each kernel launched a few times, nothing checked or timed by itself.
// Built with -DCHANGED each kernel has one change, and keeps its name, as in a pull request.
//
//   nvcc -O3 -arch=native -o once tests/kernels/changes/once.cu
//   ncu --set full --clock-control none -o once.ncu-rep ./once
//
// Arguments: how often each kernel is launched (1).
#include <cstdio>
#include <cstdlib>

#ifdef CHANGED
#define IF_CHANGED(before, after) after
#else
#define IF_CHANGED(before, after) before
#endif

namespace remapped {
#define BLOCK 32
#ifdef CHANGED
#define sgemm_naive gemm_mapped
#include "../../../cuda/ladder/01_naive.cu"
#else
#define sgemm_coalesced gemm_mapped
#include "../../../cuda/ladder/02_coalesced.cu"
#endif
#undef BLOCK
}  // namespace remapped

namespace unrolled {
#define TILE 32
#ifdef CHANGED
#define sgemm_shared_tile_rolled gemm_unrolled
#include "../../../cuda/ladder/04_shared_tile_rolled.cu"
#undef sgemm_shared_tile_rolled
#else
#define sgemm_shared_tile gemm_unrolled
#include "../../../cuda/ladder/03_shared_tile.cu"
#undef sgemm_shared_tile
#endif
}  // namespace unrolled

namespace barrier {
#ifdef CHANGED
#define sgemm_shared_tile_extra_barrier gemm_barrier
#include "../../../cuda/ladder/05_shared_tile_extra_barrier.cu"
#else
#define sgemm_shared_tile_rolled gemm_barrier
#include "../../../cuda/ladder/04_shared_tile_rolled.cu"
#endif
#undef TILE
}  // namespace barrier

namespace padded {
#define BM 128
#define BN 128
#define BK 8
#define TM 8
#define TN 8
#define MIN_BLOCKS 1
#define PAD IF_CHANGED(4, 0)
#define sgemm_bank_conflict_free gemm_padded
#include "../../../cuda/ladder/11_bank_conflict_free.cu"
#undef BM
#undef BK
#undef MIN_BLOCKS
#undef PAD
}  // namespace padded

namespace bounded {
#define BM 64
#define BK 16
#define WM 64
#define WN 32
#define PAD 4
#define MIN_BLOCKS IF_CHANGED(4, 1)
#define sgemm_warp_tile gemm_bounded
#include "../../../cuda/ladder/12_warp_tile.cu"
}  // namespace bounded

namespace strided {
#define ROUNDS 131072
#define STRIDE IF_CHANGED(1, 8)
#include "fma_chain.cu"
}  // namespace strided

// The same counters, and some loads that take longer: 0.9 % of the time.
namespace far {
#define PERIOD 256
#define FAR IF_CHANGED(2048, 4194304)
#define walk walk_far
#include "walk.cu"
#undef PERIOD
#undef FAR
#undef walk
}  // namespace far

// The same, so often that it takes a multiple.
namespace often {
#define PERIOD 2
#define FAR IF_CHANGED(2048, 4194304)
#define walk walk_often
#include "walk.cu"
#undef PERIOD
#undef FAR
#undef walk
}  // namespace often

// The same, one load in sixteen.
namespace sometimes {
#define PERIOD 16
#define FAR IF_CHANGED(2048, 4194304)
#define walk walk_sometimes
#include "walk.cu"
}  // namespace sometimes

// Not changed, of 2 us to some milliseconds: what times of the same code do.
template <int LOG>
__global__ void scale(float* x) {
    for (size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x; i < (size_t{1} << LOG);
         i += size_t{gridDim.x} * blockDim.x) {
        x[i] = 1.0001f * x[i];
    }
}

static void check(cudaError_t error) {
    if (error != cudaSuccess) {
        std::fprintf(stderr, "%s\n", cudaGetErrorString(error));
        std::exit(1);
    }
}

static float* uniform(size_t count) {
    float* host = static_cast<float*>(std::malloc(count * sizeof(float)));
    unsigned state = 1;
    for (size_t i = 0; i < count; ++i) {
        state = state * 1664525u + 1013904223u;
        host[i] = static_cast<float>(state >> 8) / 16777216.0f - 0.5f;
    }
    float* device = nullptr;
    check(cudaMalloc(&device, count * sizeof(float)));
    check(cudaMemcpy(device, host, count * sizeof(float), cudaMemcpyHostToDevice));
    std::free(host);
    return device;
}

template <int LOG>
static void launch_scale(float* x) {
    const int blocks = LOG > 18 ? 1056 : 1 << (LOG - 8);
    scale<LOG><<<blocks, 256>>>(x);
}

int main(int count, char** given) {
    const int launches = count > 1 ? std::atoi(given[1]) : 1;
    const int n = 1024;
    const int chains = 270336;
    const int walkers = 4224;
    const size_t far_away = size_t{1} << 22;
    float* a = uniform(n * n);
    float* b = uniform(n * n);
    float* c = uniform(n * n);
    float* x = uniform(chains * size_t{8});
    float* y = uniform(chains);
    float* large = uniform(size_t{1} << 26);
    int* zeros = nullptr;
    int* places = nullptr;
    check(cudaMalloc(&zeros, far_away * sizeof(int)));
    check(cudaMemset(zeros, 0, far_away * sizeof(int)));
    check(cudaMalloc(&places, walkers * sizeof(int)));
    for (int launch = 0; launch < launches; ++launch) {
        remapped::gemm_mapped<<<dim3(n / 32, n / 32), dim3(32, 32)>>>(a, b, c, n, n, n);
        unrolled::gemm_unrolled<<<dim3(n / 32, n / 32), dim3(32, 32)>>>(a, b, c, n, n, n);
        barrier::gemm_barrier<<<dim3(n / 32, n / 32), dim3(32, 32)>>>(a, b, c, n, n, n);
        padded::gemm_padded<<<dim3(n / 128, n / 128), 256>>>(a, b, c, n, n, n);
        bounded::gemm_bounded<<<dim3(n / 128, n / 64), 128>>>(a, b, c, n, n, n);
        strided::fma_chain<<<chains / 256, 256>>>(x, y, chains);
        far::walk_far<<<walkers / 32, 32>>>(zeros, places, 32768);
        often::walk_often<<<walkers / 32, 32>>>(zeros, places, 4096);
        sometimes::walk_sometimes<<<walkers / 32, 32>>>(zeros, places, 2048);
        launch_scale<10>(large);
        launch_scale<16>(large);
        launch_scale<20>(large);
        launch_scale<23>(large);
        launch_scale<25>(large);
        launch_scale<26>(large);
        check(cudaGetLastError());
    }
    check(cudaDeviceSynchronize());
    return 0;
}
