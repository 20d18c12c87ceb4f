// Attention with heads of 16 values, an exponential for each score
//
// Queries and keys are of bounded length, so that no largest score has to be subtracted, and a
// column of ones beside the values adds up the weights. The special-function unit takes sixteen
// lanes a cycle: the 256 powers of a tile need three times as long as its five matrix instructions.
//
// /// kernelprof
// kernel = "attend"
// block = [128]
// grid = ["LENGTH // 128", "HEADS"]
// reference = "reference:attend"
// flops = "4 * HEADS * LENGTH * LENGTH * 16"
// min_bytes = "128 * HEADS * LENGTH"
//
// [sizes]
// LENGTH = 2048
// HEADS = 264
//
// [check]
// sizes = { LENGTH = 256, HEADS = 3 }
// tolerance = 1e-2
//
// [[arguments]]
// name = "queries"
// type = "float16"
// shape = ["HEADS", "LENGTH", 16]
//
// [[arguments]]
// name = "keys"
// type = "float16"
// shape = ["HEADS", "LENGTH", 16]
//
// [[arguments]]
// name = "values"
// type = "float16"
// shape = ["HEADS", "LENGTH", 16]
//
// [[arguments]]
// name = "means"
// type = "float16"
// shape = ["HEADS", "LENGTH", 16]
// output = true
//
// [[arguments]]
// name = "length"
// type = "int32"
// value = "LENGTH"
//
// [compile]
// standard = "c++17"
// flags = ["-O3"]
// ///

#include <cuda_fp16.h>

constexpr int DIM = 16;
constexpr int TILE = 64;        // keys
constexpr int SETS = 2;         // of 16 queries a warp
constexpr int PITCH = DIM + 8;  // halves of a row in shared memory
constexpr float SCALE = 0.36067376f;  // log2(e) / sqrt(16)

__device__ void multiply_add(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Four matrices of 8 x 8 halves; each lane gives the address of a row.
__device__ void load_matrices(unsigned (&r)[4], const void* row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(static_cast<unsigned>(__cvta_generic_to_shared(row)))
                 : "memory");
}

__device__ void load_transposed(unsigned (&r)[4], const void* row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(static_cast<unsigned>(__cvta_generic_to_shared(row)))
                 : "memory");
}

__device__ float power_of_two(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

__device__ unsigned bits(__half2 two) { return *reinterpret_cast<const unsigned*>(&two); }

// Two weights from two scores, as the tensor cores take them.
__device__ unsigned weights(float low, float high) {
    return bits(__floats2half2_rn(power_of_two(low), power_of_two(high)));
}

extern "C" __global__ void __launch_bounds__(128)
    attend(const __half* __restrict__ queries, const __half* __restrict__ keys,
           const __half* __restrict__ values, __half* __restrict__ means, int length) {
    __shared__ __align__(16) __half key_tile[TILE][PITCH];
    __shared__ __align__(16) __half value_tile[TILE][PITCH];
    const int lane = threadIdx.x % 32;
    const int pair = lane % 4 * 2;
    const size_t head = static_cast<size_t>(blockIdx.y) * length * DIM;
    const size_t row = (blockIdx.x * 4 + threadIdx.x / 32) * (SETS * 16) + lane / 4;

    const __half2 scale = __float2half2_rn(SCALE);
    unsigned q[SETS][4];
#pragma unroll
    for (int k = 0; k < 4 * SETS; ++k) {
        const size_t at = row + k / 4 * 16 + k % 2 * 8;
        const __half* from = queries + head + at * DIM + k % 4 / 2 * 8 + pair;
        q[k / 4][k % 4] = bits(__hmul2(*reinterpret_cast<const __half2*>(from), scale));
    }
    float mean[SETS][2][4] = {};
    float total[SETS][4] = {};
    for (int first = 0; first < length; first += TILE) {
        __syncthreads();
        const int chunk = threadIdx.x;  // of 16 bytes
        const size_t from = head + static_cast<size_t>(first) * DIM + chunk * 8;
        *reinterpret_cast<uint4*>(&key_tile[chunk / 2][chunk % 2 * 8]) =
            *reinterpret_cast<const uint4*>(keys + from);
        *reinterpret_cast<uint4*>(&value_tile[chunk / 2][chunk % 2 * 8]) =
            *reinterpret_cast<const uint4*>(values + from);
        __syncthreads();
#pragma unroll
        for (int j = 0; j < TILE; j += 16) {
            unsigned b[4];
            unsigned c[4];
            load_matrices(b, &key_tile[j + lane / 16 * 8 + lane % 8][lane / 8 % 2 * 8]);
            load_transposed(c, &value_tile[j + lane % 16][lane / 16 * 8]);
#pragma unroll
            for (int set = 0; set < SETS; ++set) {
                float score[2][4] = {};
                multiply_add(score[0], q[set], b[0], b[1]);
                multiply_add(score[1], q[set], b[2], b[3]);
                const unsigned weight[4] = {weights(score[0][0], score[0][1]),
                                            weights(score[0][2], score[0][3]),
                                            weights(score[1][0], score[1][1]),
                                            weights(score[1][2], score[1][3])};
                multiply_add(mean[set][0], weight, c[0], c[1]);
                multiply_add(mean[set][1], weight, c[2], c[3]);
                multiply_add(total[set], weight, 0x3c003c00u, 0x3c003c00u);
            }
        }
    }
#pragma unroll
    for (int n = 0; n < 4 * SETS; ++n) {
        const int set = n / 4;
        const int half = n % 2;
        const float part = 1.0f / total[set][2 * half];
        const float* from = &mean[set][n % 4 / 2][2 * half];
        __half* to =
            means + head + (row + set * 16 + half * 8) * DIM + n % 4 / 2 * 8 + pair;
        *reinterpret_cast<__half2*>(to) = __floats2half2_rn(from[0] * part, from[1] * part);
    }
}
