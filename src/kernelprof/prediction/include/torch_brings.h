// What device code uses of PyTorch's headers: narrow numbers, which compute in float, atomics,
// exchange between lanes, and accessors of tensors.
#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>

constexpr int C10_WARP_SIZE = 32;
#define C10_HOST __host__
#define C10_DEVICE __device__
#define C10_HOST_DEVICE __host__ __device__
#define C10_ALWAYS_INLINE inline
#define C10_RESTRICT __restrict__
#define C10_LAUNCH_BOUNDS_0 __launch_bounds__(256, 4)
#define C10_LAUNCH_BOUNDS_1(threads) __launch_bounds__(threads)
#define C10_LAUNCH_BOUNDS_2(threads, blocks) __launch_bounds__(threads, blocks)
#define CUDA_KERNEL_ASSERT(condition)                                                               \
    if (!(condition)) {                                                                            \
        __trap();                                                                                  \
    }
#define CUDA_KERNEL_LOOP(i, n)                                                                      \
    long long i##_64 = (long long)blockIdx.x * blockDim.x + threadIdx.x;                           \
    for (int i = i##_64; i##_64 < (n); i##_64 += blockDim.x * gridDim.x, i = i##_64)

namespace c10 {
template <typename Stored, typename Bits>
struct alignas(2) Narrow {
    unsigned short x;
    Narrow() = default;
    Narrow(float value) : x(Bits::of(Stored(value))) {}
    Narrow(Stored value) : x(Bits::of(value)) {}
    operator float() const { return float(Bits::value(x)); }
    operator Stored() const { return Bits::value(x); }
    Narrow operator-() const { return Narrow(-float(*this)); }
    Narrow &operator+=(float other) { return *this = Narrow(float(*this) + other); }
    Narrow &operator-=(float other) { return *this = Narrow(float(*this) - other); }
    Narrow &operator*=(float other) { return *this = Narrow(float(*this) * other); }
    Narrow &operator/=(float other) { return *this = Narrow(float(*this) / other); }
#define KERNELPROF_OPERATOR(op, own, of_float, of_double)                                           \
    friend own operator op(Narrow a, Narrow b) { return own(float(a) op float(b)); }               \
    template <typename I, decltype(I() % 1) = 0> friend own operator op(Narrow a, I b) {           \
        return own(float(a) op float(b));                                                          \
    }                                                                                              \
    template <typename I, decltype(I() % 1) = 0> friend own operator op(I a, Narrow b) {           \
        return own(float(a) op float(b));                                                          \
    }                                                                                              \
    friend of_float operator op(Narrow a, float b) { return float(a) op b; }                       \
    friend of_float operator op(float a, Narrow b) { return a op float(b); }                       \
    friend of_double operator op(Narrow a, double b) { return float(a) op b; }                     \
    friend of_double operator op(double a, Narrow b) { return a op float(b); }
    KERNELPROF_OPERATOR(+, Narrow, float, double)
    KERNELPROF_OPERATOR(-, Narrow, float, double)
    KERNELPROF_OPERATOR(*, Narrow, float, double)
    KERNELPROF_OPERATOR(/, Narrow, float, double)
    KERNELPROF_OPERATOR(<, bool, bool, bool)
    KERNELPROF_OPERATOR(>, bool, bool, bool)
    KERNELPROF_OPERATOR(<=, bool, bool, bool)
    KERNELPROF_OPERATOR(>=, bool, bool, bool)
    KERNELPROF_OPERATOR(==, bool, bool, bool)
    KERNELPROF_OPERATOR(!=, bool, bool, bool)
#undef KERNELPROF_OPERATOR
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

// Values of two bytes travel as their bits.
#define KERNELPROF_EXCHANGE(name, shuffle, kind)                                                    \
    template <typename T>                                                                          \
    T name(T value, kind from, int width = 32, unsigned int mask = 0xffffffffu) {                  \
        if constexpr (sizeof(T) == 2) {                                                            \
            unsigned short &bits = reinterpret_cast<unsigned short &>(value);                      \
            bits = (unsigned short)shuffle(mask, (unsigned int)bits, from, width);                 \
            return value;                                                                          \
        } else {                                                                                   \
            return shuffle(mask, value, from, width);                                              \
        }                                                                                          \
    }
KERNELPROF_EXCHANGE(WARP_SHFL, __shfl_sync, int)
KERNELPROF_EXCHANGE(WARP_SHFL_XOR, __shfl_xor_sync, int)
KERNELPROF_EXCHANGE(WARP_SHFL_UP, __shfl_up_sync, unsigned int)
KERNELPROF_EXCHANGE(WARP_SHFL_DOWN, __shfl_down_sync, unsigned int)
#undef KERNELPROF_EXCHANGE
inline unsigned int WARP_BALLOT(int predicate, unsigned int mask = 0xffffffffu) {
    return __ballot_sync(mask, predicate);
}
inline int WARP_ANY(int predicate, unsigned int mask = 0xffffffffu) {
    return __any_sync(mask, predicate);
}

namespace at {
template <typename T> struct DefaultPtrTraits {
    using PtrType = T *;
};
template <typename T> struct RestrictPtrTraits {
    using PtrType = T *__restrict__;
};
template <typename T, size_t N, template <typename> class Traits, typename Index>
struct TensorAccessor {
    typename Traits<T>::PtrType data_;
    const Index *sizes_, *strides_;
    auto operator[](Index i) const {
        return TensorAccessor<T, N - 1, Traits, Index>{data_ + strides_[0] * i, sizes_ + 1,
                                                       strides_ + 1};
    }
    Index size(Index i) const { return sizes_[i]; }
    Index stride(Index i) const { return strides_[i]; }
    T *data() const { return data_; }
};
template <typename T, template <typename> class Traits, typename Index>
struct TensorAccessor<T, 1, Traits, Index> {
    typename Traits<T>::PtrType data_;
    const Index *sizes_, *strides_;
    T &operator[](Index i) const { return data_[strides_[0] * i]; }
    Index size(Index i) const { return sizes_[i]; }
    Index stride(Index i) const { return strides_[i]; }
    T *data() const { return data_; }
};
template <typename T, size_t N, template <typename> class Traits = DefaultPtrTraits,
          typename Index = int64_t>
struct PackedTensorAccessor {
    typename Traits<T>::PtrType data_;
    Index sizes_[N], strides_[N];
    decltype(auto) operator[](Index i) const {
        return TensorAccessor<T, N, Traits, Index>{data_, sizes_, strides_}[i];
    }
    Index size(Index i) const { return sizes_[i]; }
    Index stride(Index i) const { return strides_[i]; }
    T *data() const { return data_; }
};
template <typename T, size_t N, template <typename> class Traits = DefaultPtrTraits>
using PackedTensorAccessor32 = PackedTensorAccessor<T, N, Traits, int>;
template <typename T, size_t N, template <typename> class Traits = DefaultPtrTraits>
using PackedTensorAccessor64 = PackedTensorAccessor<T, N, Traits, int64_t>;
} // namespace at
namespace torch {
using namespace at;
namespace indexing {}
} // namespace torch
