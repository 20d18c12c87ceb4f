// 100 Jacobi iterations of one small system for many right-hand sides, in TF32
//
// Each warp carries 16 right-hand sides of 32 unknowns in registers, and the matrix beside them.
// TF32 goes through the tensor cores at half the rate of FP16, with the same 10 bits of mantissa.
//
// /// kernelprof
// kernel = "jacobi"
// block = [128]
// grid = ["sides // 64"]
// reference = "reference:jacobi"
//
// [sizes]
// sides = 262144
// iterations = 100
//
// [check]
// sizes = { sides = 1024 }
// tolerance = 5e-3
//
// [[arguments]]
// name = "matrix"
// type = "float32"
// shape = ["32", "32"]
// fill = "reference:matrix"
//
// [[arguments]]
// name = "right"
// type = "float32"
// shape = ["sides", "32"]
//
// [[arguments]]
// name = "out"
// type = "float32"
// shape = ["sides", "32"]
// output = true
//
// [[arguments]]
// name = "iterations"
// type = "int32"
// value = "iterations"
//
// [compile]
// flags = ["-O3"]
// standard = "c++17"
// ///

constexpr int kSize = 32;
constexpr int kDepth = 8;  // of one matrix instruction
constexpr int kParts = kSize / kDepth;
constexpr int kTiles = kSize / 8;

__device__ __forceinline__ unsigned operand(float value) {
    unsigned rounded;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(rounded) : "f"(value));
    return rounded;
}

__device__ __forceinline__ void multiply(float (&sum)[4], const unsigned (&a)[4],
                                         const unsigned (&b)[2]) {
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// x = x matrix + right, over and over; rows are right-hand sides.
extern "C" __global__ void __launch_bounds__(128)
    jacobi(const float* __restrict__ matrix, const float* __restrict__ right,
           float* __restrict__ out, int iterations) {
    const int row = threadIdx.x % 32 / 4;
    const int pair = threadIdx.x % 4 * 2;
    const int first = blockIdx.x * 64 + threadIdx.x / 32 * 16 + row;

    unsigned m[kParts][kTiles][2];
#pragma unroll
    for (int k = 0; k < kParts; ++k) {
#pragma unroll
        for (int n = 0; n < kTiles; ++n) {
            const float* from = matrix + (k * kDepth + pair) * kSize + n * 8 + row;
            // The result has neighbours in a thread, the operand columns four apart: the sums do
            // not mind in which order the columns are counted.
            m[k][n][0] = operand(from[0]);
            m[k][n][1] = operand(from[kSize]);
        }
    }
    float b[kTiles][4];
    float x[kTiles][4];
#pragma unroll
    for (int n = 0; n < kTiles; ++n) {
#pragma unroll
        for (int q = 0; q < 4; ++q) {
            b[n][q] = right[static_cast<size_t>(first + q / 2 * 8) * kSize + n * 8 + pair + q % 2];
            x[n][q] = b[n][q];
        }
    }

#pragma unroll 1
    for (int i = 0; i < iterations; ++i) {
        unsigned old[kParts][4];
#pragma unroll
        for (int k = 0; k < kParts; ++k) {
            old[k][0] = operand(x[k][0]);
            old[k][1] = operand(x[k][2]);
            old[k][2] = operand(x[k][1]);
            old[k][3] = operand(x[k][3]);
        }
#pragma unroll
        for (int n = 0; n < kTiles; ++n) {
#pragma unroll
            for (int q = 0; q < 4; ++q) x[n][q] = b[n][q];
        }
#pragma unroll
        for (int k = 0; k < kParts; ++k) {
#pragma unroll
            for (int n = 0; n < kTiles; ++n) multiply(x[n], old[k], m[k][n]);
        }
    }
#pragma unroll
    for (int n = 0; n < kTiles; ++n) {
#pragma unroll
        for (int q = 0; q < 4; ++q) {
            out[static_cast<size_t>(first + q / 2 * 8) * kSize + n * 8 + pair + q % 2] = x[n][q];
        }
    }
}
