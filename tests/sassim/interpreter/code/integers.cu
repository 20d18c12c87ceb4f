// Arithmetic on whole numbers: each kernel works out one expression of a and b for each thread.
#include <cuda_runtime.h>

using i32 = int;
using u32 = unsigned int;
using i64 = long long;
using u64 = unsigned long long;
using u128 = unsigned __int128;

#define KERNEL(name, result, left, right, expression)                                       \
    extern "C" __global__ void name(result* out, const left* x, const right* y) {           \
        const int i = blockIdx.x * blockDim.x + threadIdx.x;                                \
        const left a = x[i];                                                                \
        const right b = y[i];                                                               \
        out[i] = expression;                                                                \
    }

KERNEL(divide_i32, i32, i32, i32, a / b)
KERNEL(remainder_i32, i32, i32, i32, a % b)
KERNEL(divide_u32, u32, u32, u32, a / b)
KERNEL(remainder_u32, u32, u32, u32, a % b)
KERNEL(divide_i64, i64, i64, i64, a / b)
KERNEL(remainder_i64, i64, i64, i64, a % b)
KERNEL(divide_u64, u64, u64, u64, a / b)
KERNEL(remainder_u64, u64, u64, u64, a % b)
KERNEL(divide_by_7, i32, i32, i32, a / 7 + b % 10)
KERNEL(divide_by_1000, u64, u64, u64, a / 1000 + b % 9)
KERNEL(multiply_i64, i64, i64, i64, a * b)
KERNEL(multiply_high_i32, i32, i32, i32, __mulhi(a, b))
KERNEL(multiply_high_u32, u32, u32, u32, __umulhi(a, b))
KERNEL(multiply_high_i64, i64, i64, i64, __mul64hi(a, b))
KERNEL(multiply_high_u64, u64, u64, u64, __umul64hi(a, b))
KERNEL(multiply_wide, i64, i32, i32, static_cast<i64>(a) * b + 5)
KERNEL(multiply_u128, u64, u64, u64, static_cast<u64>(((u128(a) * b) + (u128(b) << 70)) >> 61))
KERNEL(add_u128, u64, u64, u64, static_cast<u64>(((u128(a) << 40) + (u128(b) << 30) + a) >> 64))
KERNEL(subtract_u128, u64, u64, u64, static_cast<u64>(((u128(a) << 40) - (u128(b) << 50) - b) >> 64))
KERNEL(sum_of_three, u32, u32, u32, a + b + (a >> 3))
KERNEL(difference, i64, i64, i64, a - b - 1)
KERNEL(left_i64, i64, i64, i32, a << (b & 63))
KERNEL(right_i64, i64, i64, i32, a >> (b & 63))
KERNEL(right_u64, u64, u64, i32, a >> (b & 63))
KERNEL(left_clamped, u32, u32, u32, b > 31 ? 0 : a << b)
KERNEL(funnel_left, u32, u32, u32, __funnelshift_l(a, b, a & 63))
KERNEL(funnel_right, u32, u32, u32, __funnelshift_r(a, b, b & 63))
KERNEL(funnel_left_clamped, u32, u32, u32, __funnelshift_lc(a, b, a & 63))
KERNEL(funnel_right_clamped, u32, u32, u32, __funnelshift_rc(a, b, b & 63))
KERNEL(rotate, u32, u32, u32, (a << 7 | a >> 25) ^ (b << (a & 31) | b >> (-a & 31)))
KERNEL(leading_zeros, i32, i32, i32, __clz(a) + 100 * __clz(b))
KERNEL(leading_zeros_i64, i32, i64, i64, __clzll(a) + 100 * __clzll(b))
KERNEL(first_set, i32, i32, i32, __ffs(a) + 100 * __ffs(b))
KERNEL(first_set_i64, i32, i64, i64, __ffsll(a) + 100 * __ffsll(b))
KERNEL(population, i32, u32, u32, __popc(a) + 100 * __popc(b))
KERNEL(population_u64, i32, u64, u64, __popcll(a) + 100 * __popcll(b))
KERNEL(reverse_bits, u32, u32, u32, __brev(a) ^ b)
KERNEL(reverse_bits_u64, u64, u64, u64, __brevll(a) ^ b)
KERNEL(permute_bytes, u32, u32, u32, __byte_perm(a, b, a & 0x7777))
KERNEL(permute_signs, u32, u32, u32, ({
           u32 chosen;
           asm("prmt.b32 %0, %1, %2, 0x9a5d;" : "=r"(chosen) : "r"(a), "r"(b));
           chosen;
       }))
KERNEL(smallest, i32, i32, i32, min(min(a, b), -17))
KERNEL(largest, u32, u32, u32, max(max(a, b), 17u))
KERNEL(smallest_of_three, i32, i32, i32, min(min(a, b), a ^ b))
KERNEL(largest_of_three, u32, u32, u32, max(max(a, b), a ^ b))
KERNEL(at_least_zero, i32, i32, i32, max(min(a, b), 0))
KERNEL(smallest_i64, i64, i64, i64, min(a, b))
KERNEL(largest_u64, u64, u64, u64, max(a, b))
KERNEL(absolute, i32, i32, i32, abs(a) - abs(b))
KERNEL(absolute_i64, i64, i64, i64, llabs(a) - llabs(b))
KERNEL(less_i64, i32, i64, i64, (a < b) + 2 * (a <= b) + 4 * (a == b) + 8 * (a != b) + 16 * (a >= b))
KERNEL(less_u64, i32, u64, u64, (a < b) + 2 * (a <= b) + 4 * (a == b) + 8 * (a > b) + 16 * (a >= b))
KERNEL(dot_bytes, i32, i32, i32, __dp4a(a, b, 1000))
KERNEL(dot_bytes_unsigned, u32, u32, u32, __dp4a(a, b, 1000u))
KERNEL(dot_halves, i32, i32, i32, __dp2a_lo(a, b, 10) + __dp2a_hi(a, b, 20))
KERNEL(sum_of_differences, u32, i32, i32, __sad(a, b, 77u))
KERNEL(differences_of_bytes, u32, u32, u32, __vsadu4(a, b))
KERNEL(add_bytes, u32, u32, u32, __vadd4(a, b))
KERNEL(add_bytes_saturating, u32, u32, u32, __vaddus4(a, b))
KERNEL(compare_bytes, u32, u32, u32, __vcmpgtu4(a, b))
KERNEL(largest_bytes, u32, u32, u32, __vmaxu4(a, b))
KERNEL(largest_halves, u32, u32, u32, __vmaxs2(a, b))
KERNEL(average, i32, i32, i32, __hadd(a, b) + __rhadd(a, b))
KERNEL(extract_bits, i32, i32, i32, (a << (b & 7)) >> 20)
KERNEL(logic, u32, u32, u32, ((a & b) | (~a & (b >> 3))) ^ (a | 0x00ff00ff))
KERNEL(narrow, i32, i32, i32,
       static_cast<signed char>(a) + static_cast<short>(b) + static_cast<unsigned char>(a >> 4))
KERNEL(narrow_bytes, signed char, signed char, unsigned char, static_cast<signed char>(a * 3 - b))
KERNEL(narrow_shorts, short, short, unsigned short, static_cast<short>(a * 5 + (b >> 3)))
KERNEL(counted, i32, i32, i32, ({
           int n = 0;
           for (u32 k = a & 0xff; k != 1 && n < 200; ++n) {
               k = k & 1 ? 3 * k + 1 : k >> 1;
               if (k == 0) break;
           }
           n + b;
       }))

// Bits of a generator as in cuRAND's XORWOW.
extern "C" __global__ void generator(u32* out, int turns) {
    u32 x = 123456789u + threadIdx.x, y = 362436069u, z = 521288629u, w = 88675123u, v = 5783321u;
    u32 d = 6615241u;
    for (int n = 0; n < turns; ++n) {
        const u32 t = x ^ (x >> 2);
        x = y;
        y = z;
        z = w;
        w = v;
        v = (v ^ (v << 4)) ^ (t ^ (t << 1));
        d += 362437u;
    }
    out[threadIdx.x] = v + d;
}
