// /// factors
// title = "Impulses at a million joints by elimination with pivots in 6 x 6 systems"
// kind = "both pay"
// blind = true
// expect = "The swap with a row found at run time keeps the matrix in local memory, whose 350 KB an SM spill from L1 to L2; the loads of 168-byte systems touch 32 lines each. Both compete for L1: each fix pays 1.3x or more, both reach DRAM's limit at a fifth of the time."
//
// [causes.A]
// bottleneck = "local-memory-traffic"
// fix = "Swap rows by selection under fixed indices, so that the matrix stays in registers."
//
// [causes.B]
// bottleneck = "uncoalesced-global-access"
// fix = "Store the systems interleaved, so that lanes read neighbouring words."
// ///
#include "common.cuh"

constexpr int kN = 6, kWidth = kN + 1, kValues = kN * kWidth, kSystems = 1 << 20;

__device__ __forceinline__ size_t place(int system, int e) {
#ifdef FIX_B
    return size_t(e) * kSystems + system;
#else
    return size_t(system) * kValues + e;
#endif
}

// The large entry of a row is not on the diagonal.
__global__ void fill(float* systems) {
    const int system = blockIdx.x * 256 + threadIdx.x;
    for (int e = 0; e < kValues; ++e) {
        const bool large = e % kWidth == (e / kWidth + system) % kN;
        systems[place(system, e)] = float(unit(size_t(system) * kValues + e, 1051) + (large ? 2.0 : -0.5));
    }
}

__global__ void __launch_bounds__(256) k(const float* __restrict__ systems, float* __restrict__ impulses) {
    const int system = blockIdx.x * 256 + threadIdx.x;
    float m[kN][kWidth];
#pragma unroll
    for (int e = 0; e < kValues; ++e) m[e / kWidth][e % kWidth] = systems[place(system, e)];
#pragma unroll
    for (int c = 0; c < kN; ++c) {
        int pivot = c;
        float largest = fabsf(m[c][c]);
#pragma unroll
        for (int r = c + 1; r < kN; ++r) {
            if (fabsf(m[r][c]) > largest) {
                largest = fabsf(m[r][c]);
                pivot = r;
            }
        }
#pragma unroll
        for (int j = c; j < kWidth; ++j) {
            const float kept = m[c][j];
#ifdef FIX_A
#pragma unroll
            for (int r = c + 1; r < kN; ++r) {
                if (r == pivot) {
                    m[c][j] = m[r][j];
                    m[r][j] = kept;
                }
            }
#else
            m[c][j] = m[pivot][j];
            m[pivot][j] = kept;
#endif
        }
        const float inverse = 1.0f / m[c][c];
#pragma unroll
        for (int j = c; j < kWidth; ++j) m[c][j] *= inverse;
#pragma unroll
        for (int r = c + 1; r < kN; ++r) {
            const float factor = m[r][c];
#pragma unroll
            for (int j = c + 1; j < kWidth; ++j) m[r][j] -= factor * m[c][j];
        }
    }
#pragma unroll
    for (int r = kN - 1; r >= 0; --r) {
        float x = m[r][kN];
#pragma unroll
        for (int j = r + 1; j < kN; ++j) x -= m[r][j] * m[j][kN];
        m[r][kN] = x;
        impulses[size_t(r) * kSystems + system] = x;
    }
}

int main() {
    float* systems = zeros<float>(size_t(kSystems) * kValues);
    fill<<<kSystems / 256, 256>>>(systems);
    float* impulses = zeros<float>(size_t(kSystems) * kN);
    MEASURE(impulses, size_t(kSystems) * kN, k<<<kSystems / 256, 256>>>(systems, impulses));
}
