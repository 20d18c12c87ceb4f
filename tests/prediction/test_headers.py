"""Headers that kernels include: those of C and C++, and CUDA's own."""

from __future__ import annotations

import pytest
from tests.support.few import part_of

from kernelprof.launch.build.compilation import CompileError
from sassim.disassembler import disassemble

BROUGHT = """\
int8_t a; int64_t b; uint c; ushort d; ulong e; ssize_t f; time_t g; size_t h; u_int32_t i;
static_assert(INT_MAX == 2147483647 && UINT_MAX == 4294967295u && LLONG_MIN < 0 && CHAR_BIT == 8);
static_assert(sizeof(int64_t) == 8 && sizeof(long) == 8 && RAND_MAX > 0 && EOF == -1);
static_assert(INFINITY > 1e38f && NAN != NAN && HUGE_VAL > 1e308 && M_PI > 3.14 && M_SQRT2f > 1.4f);
static_assert(std::min(1, 2) == 1 && std::max(2.0f, 3.0f) == 3 && offsetof(dim3, y) == 4);
__device__ double of_integers(int n) { return sqrt(n) + pow(n, 2) + exp(1) + fabs(-1) + floor(n); }
__device__ float of_floats(float x) { return std::sqrt(x) + std::abs(x) + std::pow(x, 2.0f); }
"""
"""What ``nvcc`` has without an include: CUDA 13.0 and GCC 12 take each line."""

INCLUDED = {
    "cstdint": "uint8_t a; std::uintptr_t b; static_assert(UINT32_MAX == UINT64_MAX >> 32);",
    "stdint.h": "uint64_t a; int_fast32_t b; static_assert(SIZE_MAX == UINT64_MAX);",
    "inttypes.h": "uint16_t a;",
    "cinttypes": "std::uint16_t a;",
    "cfloat": "static_assert(FLT_MAX > 1e38f && FLT_EPSILON == 1.1920929e-7f);",
    "float.h": "static_assert(FLT_MIN > 0 && DBL_MAX > 1e308);",
    "climits": "static_assert(INT_MIN == -INT_MAX - 1 && ULLONG_MAX == ~0ull);",
    "limits.h": "static_assert(SHRT_MAX == 32767 && UCHAR_MAX == 255);",
    "cmath": "__device__ float f(float x) { return std::fma(x, x, std::exp(x)) + std::floor(x); }",
    "math.h": "__device__ float f(float x) { return fmaxf(x, -INFINITY) + M_PI; }",
    "cstddef": "std::size_t a; std::nullptr_t b;",
    "stddef.h": "size_t a; ptrdiff_t b;",
    "cstdlib": "__device__ int f(int x) { return std::abs(x); }",
    "cstring": "__device__ void f(char* a, char* b) { std::memcpy(a, b, 4); memset(a, 0, 4); }",
    "cstdio": '__device__ void f() { std::printf("%d", 1); }',
    "cassert": "__device__ void f(int x) { assert(x > 0); }",
    "ctime": "__device__ long f() { return std::clock(); }",
    "stdbool.h": "bool a;",
    "algorithm": "__device__ int f(int a, int b) { std::swap(a, b); return std::clamp(a, b, 3); }",
    "utility": "std::pair<int, float> a; __device__ int f() { return std::make_pair(1, 2).first; }",
    "type_traits": "static_assert(std::is_same<std::conditional_t<true, int, float>, int>::value);",
    "limits": "static_assert(std::numeric_limits<int>::max() == 2147483647);",
    "array": "__device__ int f() { std::array<int, 2> a{1, 2}; return a[1]; }",
    "tuple": "__device__ int f() { return std::get<1>(std::make_tuple(1, 2)); }",
    "complex": "__device__ float f() { return std::complex<float>(1, 2).real(); }",
    "cuda_fp16.h": "__device__ half f(half a) { return __hmul(a, a) + __float2half(1.0f); }",
    "cuda_bf16.h": "__device__ nv_bfloat16 f(nv_bfloat16 a) { return a * a; }",
    "cublas_v2.h": "__device__ nv_bfloat16 a; __device__ half b; __device__ cuComplex c;",
    "cufft.h": "__device__ cufftReal f(cufftComplex a, cufftDoubleComplex b) { return a.x + b.y; }",
    "cuda_fp8.h": "__device__ float f(__nv_fp8_e4m3 a) { return float(a); }",
    "cuda_runtime.h": "cudaStream_t a; float4 b;",
    "cuda.h": "__global__ void k(const __grid_constant__ CUtensorMap map) {}",
    "mma.h": "nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, 16, float> a;",
    "cooperative_groups.h": "namespace cg = cooperative_groups; __device__ void f() {"
    " cg::this_thread_block().sync(); }",
    "cooperative_groups/reduce.h": "namespace cg = cooperative_groups; __device__ int f(int a) {"
    " return cg::reduce(cg::tiled_partition<32>(cg::this_thread_block()), a, cg::plus<int>()); }",
    "cuda/barrier": "__device__ void f(cuda::barrier<cuda::thread_scope_block>& a) { a.arrive(); }",
    "cuda/pipeline": "__device__ void f() { auto a = cuda::make_pipeline(); a.producer_commit(); }",
    "cuda/atomic": "__device__ cuda::atomic<int, cuda::thread_scope_device> a;",
    "cub/cub.cuh": "__shared__ cub::BlockReduce<float, 128>::TempStorage a;",
}
SLOW = {
    "cuda/barrier",
    "cuda/pipeline",
    "cuda/atomic",
    "cub/cub.cuh",
    "cooperative_groups/reduce.h",
}
HEADERS = [pytest.param(*item, id=item[0]) for item in INCLUDED.items()]


def test_what_nvcc_brings_is_there_without_an_include(compile_cu) -> None:
    assert compile_cu(BROUGHT).cubin


@pytest.mark.parametrize(
    ("header", "line"),
    part_of(
        5,
        HEADERS,
        *(each for each in HEADERS[::10] if each.id not in SLOW),
        why="compiles a header",
    ),
)
def test_a_header_has_what_device_code_takes_from_it(compile_cu, header, line) -> None:
    done = compile_cu(f"#include <{header}>\n{line}\n")
    assert done.cubin
    assert "not found" not in done.messages


def test_device_code_has_the_numbers_of_pytorch_whose_headers_are_not_there(
    compile_cu, toolchain
) -> None:
    done = compile_cu(
        "#include <ATen/ATen.h>\n"
        "template <typename T> __device__ float twice(T x) {\n"
        "  return at::acc_type<T, true>(x) + static_cast<at::opmath_type<T>>(x); }\n"
        "__global__ void k(at::Half* x, c10::BFloat16* y, float* z) {\n"
        "  x[0] = x[1] * x[2] + 1; x[0] += 2.0f; y[0] = y[1] / at::BFloat16(3);\n"
        "  z[1] = __half2float(x[3]) + (x[3] > 0 ? float(-x[3]) : x[3] * 0.5f) + exp(x[4]);\n"
        "  y[6] = y[6] * (int64_t)7 + 1u; if (y[6] > 0u) y[6] = y[6] / sizeof(int);\n"
        "  if (y[2] == y[3] && 2.0 < y[4]) x[5] = __float2half(z[2]);\n"
        "  gpuAtomicAdd(x, at::Half(z[0])); gpuAtomicAdd(z, twice(x[1]) + twice(y[1])); }\n"
        "__global__ void n(int64_t* a, float* b) {\n"
        "  gpuAtomicAdd(a, 1); gpuAtomicAddNoReturn(b, 1.0); }\n"
    )
    assert done.cubin
    listing = disassemble(done.cubin, toolchain.nvdisasm)
    assert "REDG.E.ADD.F32.FTZ.RN" in listing
    assert "CAS" in listing  # of halves


def test_lanes_exchange_values_as_with_pytorch_whose_headers_are_not_there(
    compile_cu, toolchain
) -> None:
    done = compile_cu(
        "#include <ATen/cuda/DeviceUtils.cuh>\n"
        "__global__ void k(at::Half* x, float* y, double* z) { int t = threadIdx.x;\n"
        "  x[t] = WARP_SHFL_XOR(x[t], 1); y[t] = WARP_SHFL(y[t], 0, 16);\n"
        "  z[t] = WARP_SHFL_DOWN(z[t], 2); if (WARP_BALLOT(y[t] > 0)) { z[t] = 0; } }\n"
        "namespace torch { namespace mine { int n; } }\n"
    )
    assert done.cubin
    listing = disassemble(done.cubin, toolchain.nvdisasm)
    counts = {kind: listing.count(kind) for kind in ("SHFL.BFLY", "SHFL.IDX", "SHFL.DOWN")}
    assert counts == {"SHFL.BFLY": 1, "SHFL.IDX": 1, "SHFL.DOWN": 2}  # a double takes two
    assert "VOTE.ANY" in listing


@pytest.mark.parametrize("ends", ["~0u) {", "unsigned(~0)) noexcept {"])
def test_what_a_source_defines_itself_is_not_brought(compile_cu, ends) -> None:
    source = (
        "#include <ATen/ATen.h>\n"
        f"__device__ unsigned WARP_BALLOT(int value, unsigned mask = {ends}\n"
        "  return __ballot_sync(mask, value); }\n"
        "__global__ void k(unsigned* x) { x[0] = WARP_BALLOT(x[1]); }\n"
    )
    assert compile_cu(source).cubin


def test_headers_that_are_not_there_may_have_brought_whole_numbers(compile_cu) -> None:
    source = "__global__ void k(uint32_t* x, int64_t* y) { x[0] = sizeof(uint8_t) + y[0]; }\n"
    assert compile_cu(f"#include <torch/extension.h>\n{source}").cubin
    with pytest.raises(CompileError, match='"uint32_t" is undefined'):
        compile_cu(source)


def test_words_of_gcc_are_those_of_the_language(compile_cu) -> None:
    source = '__global__ void k(int* x) { __asm__ __volatile__("membar.gl;"); x[0] = 1; }\n'
    assert compile_cu(source).cubin


def test_constants_made_of_others_are_known_as_to_nvcc(compile_cu, tmp_path) -> None:
    (tmp_path / "scale.h").write_text(
        "const float scale = 1.23f;\nstatic const double inverse = 1.0 / scale;\n"
        "namespace { const float half = scale / 2, whole = 2 * half; }\n"
        "const int count = 3;\n"
    )
    done = compile_cu(
        '#include "scale.h"\n'
        "__global__ void k(float* x) {\n"
        "  const float y = x[1]; x[0] = y * inverse + whole * count; }\n"
    )
    assert done.cubin


def test_a_macro_that_instantiates_templates_of_the_host_is_left_out(compile_cu) -> None:
    done = compile_cu(
        "#include <vector>\n"
        "#define FOR(layer) template void layer<float>::run(const std::vector<float>&);\n"
        "#define FOR_ALL(layer) FOR(layer)\n"
        "#define KERNELS(T) template __global__ void scale<T>(T*);\n"
        "template <typename T> struct Layer { void run(const std::vector<T>& x); };\n"
        "template <typename T> __global__ void scale(T* x) { *x *= 2; }\n"
        "template <typename T> void Layer<T>::run(const std::vector<T>& x) {}\n"
        "FOR_ALL(Layer);\nKERNELS(short);\n"
        "#define FUNCTION(N) template <class T> void N(T* a) { CHECK_GT(*a, 0); }\n"
        "FUNCTION(check)\n"
        "#define DEFINE(N) template <typename T> struct N { T operator()(T a) { return a; } };\n"
        "DEFINE(Same);\n__global__ void same(float* x) { *x = Same<float>()(*x); }\n"
    )
    assert done.cubin


def test_what_a_source_has_of_pytorch_itself_is_not_brought(compile_cu) -> None:
    done = compile_cu(
        "#include <ATen/ATen.h>\n"
        "template <typename T> __device__ void gpuAtomicAdd(T* a, T b) { atomicAdd(a, b); }\n"
        "__global__ void k(float* x) { gpuAtomicAdd(x, 1.0f); }\n"
    )
    assert done.cubin


def test_macros_before_a_declaration_are_left_to_the_compiler(compile_cu) -> None:
    """As a header for C and C++ has them; the parser takes the first line for a declaration."""
    done = compile_cu(
        "#define API extern\n#define NORETURN [[noreturn]]\n"
        "#define FORMAT(...) __attribute__((format(printf, __VA_ARGS__)))\n"
        'extern "C" {\nNORETURN FORMAT(2, 3)\nAPI void stop(int line, const char* fmt, ...);\n'
        "enum kind { KIND_A, KIND_B };\n}\n"
        "__global__ void k(float* x, enum kind type) { *x = type == KIND_A ? 1.0f : 2.0f; }\n"
    )
    assert done.cubin


def test_cccl_and_these_headers_agree(compile_cu) -> None:
    """They define the same names when both are included, in either order."""
    ours = "#include <cstdint>\n#include <cfloat>\n#include <climits>\n#include <ctime>\n"
    theirs = ours.replace("<", "<cuda/std/")
    for text in (ours + theirs, theirs + ours):
        done = compile_cu(
            text + "cuda::std::uint32_t a; __global__ void k(uint64_t* x) { *x = INT_MAX; }"
        )
        assert "redefinition" not in done.messages


@pytest.mark.parametrize(("defines", "called"), [((), True), (("-DNDEBUG",), False)])
def test_assert_calls_what_the_driver_stops_at(compile_cu, toolchain, defines, called) -> None:
    source = (
        '#include <assert.h>\nextern "C" __global__ void k(int* x) { assert(*x == 1); *x = 2; }'
    )
    text = disassemble(compile_cu(source, *defines).cubin, toolchain.nvdisasm)
    assert ("__assertfail" in text) == called


def test_printf_calls_vprintf(compile_cu, toolchain) -> None:
    source = '#include <cstdio>\nextern "C" __global__ void k(int* x) { printf("%d", *x); }'
    assert "vprintf" in disassemble(compile_cu(source).cubin, toolchain.nvdisasm)
