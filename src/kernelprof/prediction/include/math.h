// The functions themselves are NVRTC's own.
#pragma once
#define INFINITY __builtin_bit_cast(float, 0x7f800000)
#define NAN __builtin_bit_cast(float, 0x7fc00000)
#define HUGE_VALF INFINITY
#define HUGE_VAL __builtin_bit_cast(double, 0x7ff0000000000000LL)
#define FP_NAN 0
#define FP_INFINITE 1
#define FP_ZERO 2
#define FP_SUBNORMAL 3
#define FP_NORMAL 4
#define FP_ILOGB0 (-2147483647 - 1)
#define FP_ILOGBNAN (-2147483647 - 1)

#define M_E 2.7182818284590452354
#define M_LOG2E 1.4426950408889634074
#define M_LOG10E 0.43429448190325182765
#define M_LN2 0.69314718055994530942
#define M_LN10 2.30258509299404568402
#define M_PI 3.14159265358979323846
#define M_PI_2 1.57079632679489661923
#define M_PI_4 0.78539816339744830962
#define M_1_PI 0.31830988618379067154
#define M_2_PI 0.63661977236758134308
#define M_2_SQRTPI 1.12837916709551257390
#define M_SQRT2 1.41421356237309504880
#define M_SQRT1_2 0.70710678118654752440
#define M_Ef 2.7182818284590452354f
#define M_LOG2Ef 1.4426950408889634074f
#define M_LOG10Ef 0.43429448190325182765f
#define M_LN2f 0.69314718055994530942f
#define M_LN10f 2.30258509299404568402f
#define M_PIf 3.14159265358979323846f
#define M_PI_2f 1.57079632679489661923f
#define M_PI_4f 0.78539816339744830962f
#define M_1_PIf 0.31830988618379067154f
#define M_2_PIf 0.63661977236758134308f
#define M_2_SQRTPIf 1.12837916709551257390f
#define M_SQRT2f 1.41421356237309504880f
#define M_SQRT1_2f 0.70710678118654752440f

// Functions of an integer are those of its double (C++ [cmath.syn]).
namespace kernelprof_headers {
template <class T> struct double_of {};
template <> struct double_of<bool> { typedef double type; };
template <> struct double_of<char> { typedef double type; };
template <> struct double_of<signed char> { typedef double type; };
template <> struct double_of<unsigned char> { typedef double type; };
template <> struct double_of<short> { typedef double type; };
template <> struct double_of<unsigned short> { typedef double type; };
template <> struct double_of<int> { typedef double type; };
template <> struct double_of<unsigned int> { typedef double type; };
template <> struct double_of<long> { typedef double type; };
template <> struct double_of<unsigned long> { typedef double type; };
template <> struct double_of<long long> { typedef double type; };
template <> struct double_of<unsigned long long> { typedef double type; };
}  // namespace kernelprof_headers

#define KERNELPROF_OF_INTEGER(name)                                                  \
    template <class T>                                                               \
    __device__ inline typename kernelprof_headers::double_of<T>::type name(T x) {    \
        return name(static_cast<double>(x));                                         \
    }
KERNELPROF_OF_INTEGER(acos)
KERNELPROF_OF_INTEGER(asin)
KERNELPROF_OF_INTEGER(atan)
KERNELPROF_OF_INTEGER(cbrt)
KERNELPROF_OF_INTEGER(ceil)
KERNELPROF_OF_INTEGER(cos)
KERNELPROF_OF_INTEGER(cosh)
KERNELPROF_OF_INTEGER(erf)
KERNELPROF_OF_INTEGER(exp)
KERNELPROF_OF_INTEGER(exp2)
KERNELPROF_OF_INTEGER(fabs)
KERNELPROF_OF_INTEGER(floor)
KERNELPROF_OF_INTEGER(log)
KERNELPROF_OF_INTEGER(log10)
KERNELPROF_OF_INTEGER(log1p)
KERNELPROF_OF_INTEGER(log2)
KERNELPROF_OF_INTEGER(round)
KERNELPROF_OF_INTEGER(rsqrt)
KERNELPROF_OF_INTEGER(sin)
KERNELPROF_OF_INTEGER(sinh)
KERNELPROF_OF_INTEGER(sqrt)
KERNELPROF_OF_INTEGER(tan)
KERNELPROF_OF_INTEGER(tanh)
KERNELPROF_OF_INTEGER(trunc)
#undef KERNELPROF_OF_INTEGER

#define KERNELPROF_OF_INTEGERS(name)                                                 \
    template <class T, class U>                                                      \
    __device__ inline typename kernelprof_headers::double_of<T>::type name(          \
        T x, U y, typename kernelprof_headers::double_of<U>::type = 0) {             \
        return name(static_cast<double>(x), static_cast<double>(y));                 \
    }
KERNELPROF_OF_INTEGERS(atan2)
KERNELPROF_OF_INTEGERS(fmax)
KERNELPROF_OF_INTEGERS(fmin)
KERNELPROF_OF_INTEGERS(fmod)
KERNELPROF_OF_INTEGERS(hypot)
KERNELPROF_OF_INTEGERS(pow)
#undef KERNELPROF_OF_INTEGERS
