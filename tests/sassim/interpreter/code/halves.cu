// Arithmetic on two numbers of 16 bits at once, and on numbers of 8 bits.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

using bf162 = __nv_bfloat162;
using bf16 = __nv_bfloat16;

#define KERNEL(name, result, left, right, expression)                                       \
    extern "C" __global__ void name(result* out, const left* x, const right* y) {           \
        const int i = blockIdx.x * blockDim.x + threadIdx.x;                                \
        const left a = x[i];                                                                \
        const right b = y[i];                                                               \
        out[i] = expression;                                                                \
    }
#define HALF(name, expression) KERNEL(half_##name, half2, half2, half2, expression)
#define BRAIN(name, expression) KERNEL(brain_##name, bf162, bf162, bf162, expression)
#define BOTH(name, expression) HALF(name, expression) BRAIN(name, expression)

BOTH(add, __hadd2(a, b))
BOTH(subtract, __hsub2(a, b))
BOTH(multiply, __hmul2(a, b))
BOTH(fused, __hfma2(a, b, a))
BOTH(fused_negative, __hfma2(__hneg2(a), b, __habs2(b)))
BOTH(fused_relu, __hfma2_relu(a, b, a))
BOTH(saturate, __hadd2_sat(a, b))
BOTH(smaller, __hmin2(a, b))
BOTH(larger, __hmax2(a, b))
BOTH(larger_nan, __hmax2_nan(a, b))
BOTH(greater, __hgt2(a, b))
BOTH(equal, __heq2(a, b))
BOTH(divide, __h2div(a, b))
BOTH(exponential, h2exp(a))
BOTH(logarithm, h2log(__habs2(a)))
BOTH(root, h2sqrt(__habs2(a)))
BOTH(reciprocal, h2rcp(a))
BOTH(floor, h2floor(a))
BOTH(nearest, h2rint(b))
BOTH(sine, h2sin(a))
KERNEL(half_compare, int, half2, half2, __hbgt2(a, b) + 2 * __hbeq2(a, b) + 4 * __hbltu2(a, b))
KERNEL(brain_compare, int, bf162, bf162, __hbgt2(a, b) + 2 * __hbeq2(a, b) + 4 * __hbltu2(a, b))
KERNEL(half_masks, unsigned int, half2, half2, __hgt2_mask(a, b))
KERNEL(half_swapped, half2, half2, half2, __hadd2(__lowhigh2highlow(a), __low2half2(b)))
KERNEL(half_mixed, half2, half2, half2, __halves2half2(__high2half(a), __low2half(b)))
KERNEL(half_single, half, half, half, __hfma(a, b, __hsub(a, b)))
KERNEL(half_to_float, float, half, half, __half2float(a) + __half2float(b))
KERNEL(half_of_float, half, float, float, __float2half(a + b))
KERNEL(half_of_float_zero, half, float, float, __float2half_rz(a + b))
KERNEL(half_pair, half2, float, float, __floats2half2_rn(a, b))
KERNEL(half_to_int, int, half, half, __half2int_rn(a) + 7 * __half2int_rz(b))
KERNEL(half_to_short, short, half, half, __half2short_rz(a))
KERNEL(half_of_int, half, int, int, __int2half_rn(a))
KERNEL(half_of_short, half, short, short, __short2half_rn(a))
KERNEL(half_to_double, double, half, half, static_cast<double>(__half2float(a)))
KERNEL(half_of_double, half, double, double, __double2half(a))
KERNEL(brain_to_float, float, bf16, bf16, __bfloat162float(a) * __bfloat162float(b))
KERNEL(brain_of_float, bf16, float, float, __float2bfloat16(a * b))
KERNEL(brain_of_float_zero, bf16, float, float, __float2bfloat16_rz(a))
KERNEL(brain_pair, bf162, float, float, __floats2bfloat162_rn(a, b))
KERNEL(brain_to_int, int, bf16, bf16, __bfloat162int_rz(a))
KERNEL(brain_of_int, bf16, int, int, __int2bfloat16_rn(a))
KERNEL(small_of_float, __nv_fp8_storage_t, float, float,
       __nv_cvt_float_to_fp8(a, __NV_SATFINITE, __NV_E4M3))
KERNEL(small_pair, __nv_fp8x2_storage_t, float2, float2,
       __nv_cvt_float2_to_fp8x2(a, __NV_SATFINITE, __NV_E5M2))
KERNEL(small_to_half, __half_raw, __nv_fp8_storage_t, __nv_fp8_storage_t,
       __nv_cvt_fp8_to_halfraw(a, __NV_E4M3))
KERNEL(small_to_halves, __half2_raw, __nv_fp8x2_storage_t, __nv_fp8x2_storage_t,
       __nv_cvt_fp8x2_to_halfraw2(a, __NV_E5M2))
