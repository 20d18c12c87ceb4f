// /// factors
// title = "Yields of bonds, of which one in sixteen needs Newton's method"
// kind = "alternatives"
// blind = true
// expect = "Nearly each warp has a hard bond and goes through exponentials and divisions in double for two lanes. A dense queue of the hard ones, or Newton in float, both leave DRAM as the limit (4x or more); the second fix then adds little."
//
// [causes.A]
// bottleneck = "warp-divergence"
// fix = "Queue the hard bonds of a block in shared memory and solve them with full warps."
//
// [causes.B]
// bottleneck = "fp64-throughput"
// fix = "Solve in float, which is enough for a yield of four digits."
// ///
#include "common.cuh"

#ifdef FIX_B
using Real = float;
__device__ __forceinline__ Real decay(Real x) { return __expf(-x); }
__device__ __forceinline__ Real over(Real a, Real b) { return __fdividef(a, b); }
#else
using Real = double;
__device__ __forceinline__ Real decay(Real x) { return exp(-x); }
__device__ __forceinline__ Real over(Real a, Real b) { return a / b; }
#endif
constexpr int kThreads = 256, kEach = 8, kChunk = kThreads * kEach, kBonds = 1 << 24;

// Price, coupon, years to run and a mark above 15 / 16 for bonds that are hard.
using Bond = float4;

__device__ __noinline__ float newton(Bond bond) {
    const Real price = bond.x, coupon = bond.y, years = bond.z;
    Real y = over(coupon, price);
#pragma unroll 1
    for (int n = 0; n < 4; ++n) {
        const Real discount = decay(y * years), annuity = over(1 - discount, y);
        const Real value = coupon * annuity + discount;
        const Real slope = over(coupon * (years * discount - annuity), y) - years * discount;
        y -= over(value - price, slope);
    }
    return static_cast<float>(y);
}

__global__ void __launch_bounds__(kThreads) k(const Bond* bonds, float* yields) {
    const int first = blockIdx.x * kChunk + threadIdx.x;
#ifdef FIX_A
    __shared__ int queue[kChunk], queued;
    if (threadIdx.x == 0) queued = 0;
    __syncthreads();
#endif
#pragma unroll 1
    for (int n = 0; n < kEach; n += 4) {
        Bond four[4];
#pragma unroll
        for (int m = 0; m < 4; ++m) four[m] = bonds[first + (n + m) * kThreads];
#pragma unroll
        for (int m = 0; m < 4; ++m) {
            const int i = first + (n + m) * kThreads;
            const Bond bond = four[m];
            if (bond.w < 15.0f / 16.0f) {
                yields[i] = (bond.y + (1.0f - bond.x) / bond.z) / (0.5f + 0.5f * bond.x);
            } else {
#ifdef FIX_A
                queue[atomicAdd(&queued, 1)] = i;
#else
                yields[i] = newton(bond);
#endif
            }
        }
    }
#ifdef FIX_A
    __syncthreads();
    for (int n = threadIdx.x; n < queued; n += kThreads) yields[queue[n]] = newton(bonds[queue[n]]);
#endif
}

__global__ void issue(Bond* bonds) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    bonds[i] = make_float4(0.8 + 0.2 * unit(i, 1101), 0.03 + 0.05 * unit(i, 1102), 2.0 + 28.0 * unit(i, 1103),
                           unit(i, 1104));
}

int main() {
    Bond* bonds = zeros<Bond>(kBonds);
    issue<<<kBonds / 256, 256>>>(bonds);
    float* yields = zeros<float>(kBonds);
    MEASURE(yields, kBonds, k<<<kBonds / kChunk, kThreads>>>(bonds, yields));
}
