// What device code uses of PyTorch's headers: narrow numbers, which compute in float, and atomics.
#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace c10 {
template <typename Stored, typename Bits>
struct alignas(2) Narrow {
    unsigned short x;
    Narrow() = default;
    Narrow(float value) : x(Bits::of(Stored(value))) {}
    Narrow(Stored value) : x(Bits::of(value)) {}
    operator float() const { return float(Bits::value(x)); }
    Narrow &operator+=(float other) { return *this = Narrow(float(*this) + other); }
    Narrow &operator-=(float other) { return *this = Narrow(float(*this) - other); }
    Narrow &operator*=(float other) { return *this = Narrow(float(*this) * other); }
    Narrow &operator/=(float other) { return *this = Narrow(float(*this) / other); }
};
struct HalfBits {
    static unsigned short of(__half value) { return __half_as_ushort(value); }
    static __half value(unsigned short bits) { return __ushort_as_half(bits); }
};
struct BFloat16Bits {
    static unsigned short of(__nv_bfloat16 value) { return __bfloat16_as_ushort(value); }
    static __nv_bfloat16 value(unsigned short bits) { return __ushort_as_bfloat16(bits); }
};
using Half = Narrow<__half, HalfBits>;
using BFloat16 = Narrow<__nv_bfloat16, BFloat16Bits>;
} // namespace c10

namespace at {
using c10::BFloat16;
using c10::Half;
template <typename T> struct OpMathType { using type = T; };
template <> struct OpMathType<Half> { using type = float; };
template <> struct OpMathType<BFloat16> { using type = float; };
template <> struct OpMathType<__half> { using type = float; };
template <> struct OpMathType<__nv_bfloat16> { using type = float; };
template <typename T> using opmath_type = typename OpMathType<T>::type;
template <typename T, bool is_cuda> using acc_type = typename OpMathType<T>::type;
} // namespace at

template <typename T, typename U> T gpuAtomicAdd(T *address, U value) {
    return atomicAdd(address, static_cast<T>(value));
}
template <typename U> long long gpuAtomicAdd(long long *address, U value) {
    return atomicAdd(reinterpret_cast<unsigned long long *>(address), static_cast<long long>(value));
}
template <typename U> long gpuAtomicAdd(long *address, U value) {
    return gpuAtomicAdd(reinterpret_cast<long long *>(address), value);
}
template <typename U> at::Half gpuAtomicAdd(at::Half *address, U value) {
    return atomicAdd(reinterpret_cast<__half *>(address), __float2half(value));
}
template <typename U> at::BFloat16 gpuAtomicAdd(at::BFloat16 *address, U value) {
    return atomicAdd(reinterpret_cast<__nv_bfloat16 *>(address), __float2bfloat16(value));
}
template <typename T, typename U> void gpuAtomicAddNoReturn(T *address, U value) {
    gpuAtomicAdd(address, value);
}
