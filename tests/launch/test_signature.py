"""What tree-sitter finds in CUDA sources."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.launch.conftest import SGEMM

from kernelprof.errors import InputError
from kernelprof.launch.build.compilation import check_arguments
from kernelprof.launch.signature import choose, has_main, kernels, quoted_includes

SOURCE = """\
#include <cuda_fp16.h>
#include "tiles.cuh"
typedef float real;
using index = unsigned int;
__global__ void declared(int n);
namespace ns { namespace {
template <int TILE, typename T = float, int MODE = 0>
__global__ void __launch_bounds__(256, 2) gemm(
    const T* __restrict__ A, const real *B, T* __restrict C,
    index M, const unsigned long long N, float alpha = 1.0f /* scale */) {}
}}
template <> __global__ void ns::gemm<8>(const float* A) {}
extern "C" __global__ void odd(float4 *x, float const *const y, float z[], float **p,
                               cudaTextureObject_t t, struct Foo s, double& r, std::size_t n) {}
extern "C" {
static __global__ void inner(__half* h, nv_bfloat16 *b, long int l, short int s, signed char c,
                             uint8_t u, bool flag) {}
}
#if USE
void __global__ empty(void) {}
#endif
__global__ void declared(int n) {}
__device__ float helper(float x) { return x; }
// __global__ void commented(int n) {}
const char* text = "__global__ void quoted(int n) {}";
"""


def _kernel(name):
    return next(kernel for kernel in kernels(SOURCE) if kernel.name == name)


HOPPER = """\
__global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(384, 1)
gemm(const __grid_constant__ CUtensorMap map_a, const CUtensorMap __grid_constant__ b,
     __nv_bfloat16* C, const __nv_fp8_e4m3* x, __nv_fp8_e5m2 s, const CUtensorMap* in_memory) {}
__global__ __cluster_dims__((1 + 1)) __maxnreg__(168) void other(int n) {}
"""


def test_kernels_with_attributes_and_types_of_hopper_are_read() -> None:
    gemm, other = kernels(HOPPER)
    assert (gemm.name, gemm.launch_bounds, gemm.line) == ("gemm", "384, 1", 1)
    assert [p.tensor_map for p in gemm.parameters] == [True, True, *[False] * 4]
    assert [p.map_elsewhere for p in gemm.parameters] == [*[False] * 5, True]
    assert [p.type for p in gemm.parameters] == [
        *(None, None, "bfloat16", "float8_e4m3", "float8_e5m2", None)
    ]
    assert [p.pointer for p in gemm.parameters] == [False, False, True, True, False, True]
    assert gemm.readable
    assert (other.name, [p.type for p in other.parameters]) == ("other", ["int32"])


MAPPED = """\
kernel = "gemm"
block = [384]
grid = [2]
reference = "none"
arguments = [
    { name = "map_a", tensor_map = { of = "A", box = [64, 8] } },
    { name = "b", tensor_map = { of = "A", box = [64, 8] } },
    { name = "C", type = "bfloat16", shape = [64], output = true },
    { name = "x", type = "float8_e4m3", shape = [64] },
    { name = "s", type = "float8_e5m2", value = 1 },
    { name = "A", type = "bfloat16", shape = [64, 64], passed = false },
]
"""


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("", "", None),
        ('{ name = "b", tensor_map', '{ name = "B", tensor_map', None),
        ('    { name = "b", tensor_map = { of = "A", box = [64, 8] } },\n', "", "4 arguments that"),
        (
            '{ name = "b", tensor_map = { of = "A", box = [64, 8] } }',
            '{ name = "b", type = "int64", value = 0 }',
            "argument 'b' is a scalar of int64, but the kernel's parameter is 'const CUtensorMap",
        ),
        (
            '{ name = "x", type = "float8_e4m3", shape = [64] }',
            '{ name = "x", tensor_map = { of = "A", box = [64, 8] } }',
            "argument 'x' is a tensor map, but the kernel's parameter is 'const __nv_fp8_e4m3* x'",
        ),
        ('"float8_e4m3"', '"float8_e5m2"', "argument 'x' is an array of float8_e5m2"),
        ("passed = false", "passed = true", "5 parameters, but the specification has 6 arguments"),
    ],
)
def test_tensor_maps_are_passed_for_tensor_maps(read, old, new, said) -> None:
    spec = read(MAPPED.replace(old, new, 1))
    kernel = replace(kernels(HOPPER)[0], parameters=kernels(HOPPER)[0].parameters[:5])
    if said is None:
        check_arguments(spec, kernel)
        return
    with pytest.raises(InputError) as caught:
        check_arguments(spec, kernel)
    assert said in caught.value.what


@pytest.mark.parametrize(
    "parameter", ["const CUtensorMap* b", "const CUtensorMap &b", "CUtensorMap b[2]", "Map* b"]
)
@pytest.mark.parametrize(
    "argument",
    [
        '{ name = "b", tensor_map = { of = "A", box = [64, 8] } }',
        '{ name = "b", type = "uint8", shape = [128] }',
    ],
)
def test_a_tensor_map_is_passed_by_value_alone(read, parameter, argument) -> None:
    """What an array holds would be taken for a map, which nobody has encoded."""
    source = HOPPER.replace("const CUtensorMap __grid_constant__ b", parameter)
    kernel = kernels(f"typedef CUtensorMap Map;\n{source}")[0]
    mapped = '{ name = "b", tensor_map = { of = "A", box = [64, 8] } }'
    spec = read(MAPPED.replace(mapped, argument))
    with pytest.raises(InputError) as caught:
        check_arguments(spec, replace(kernel, parameters=kernel.parameters[:5]))
    assert caught.value.what == (
        f"the kernel's parameter '{parameter}' is a pointer or reference to a tensor map"
    )
    assert caught.value.hint == (
        "pass tensor maps by value: declare the parameter as "
        "'const __grid_constant__ CUtensorMap b'"
    )


def test_kernels_are_found_in_the_order_of_the_text() -> None:
    names = [kernel.name for kernel in kernels(SOURCE)]
    assert names == ["ns::gemm", "odd", "inner", "empty", "declared"]
    assert all(kernel.defined and kernel.readable for kernel in kernels(SOURCE))


def test_a_kernel_behind_a_body_of_macros_is_found() -> None:
    source = """
#define STEP s = v - s;
template <class T> __global__ void steps(T* data, int rounds, T v) {
  T s = data[0];
  for (int j = 0; j < rounds; ++j) { STEP STEP STEP }
  data[0] = (s + '}') * 2;  // }
}
__global__ void halves(float* x) {
#ifdef SMALL
  if (x[0] > 1) {
#else
  if (x[0] > 2) {
#endif
    x[0] /= 2;
  }
}
__global__ void last(const double* y) { auto z = [](int i) { return i; }; }
"""
    found = {kernel.name: kernel for kernel in kernels(source)}
    assert list(found) == ["steps", "halves", "last"]
    assert [kernel.line for kernel in found.values()] == [3, 8, 17]
    assert [each.kind for each in found["steps"].template] == ["typename"]
    assert [each.type for each in found["last"].parameters] == ["float64"]


def test_a_name_that_stands_for_one_of_several_types_is_not_known() -> None:
    source = """
#ifdef LOW
typedef half floatX;
#else
typedef float floatX;
#endif
typedef float real;
typedef float real;
__global__ void k(floatX* a, real* b) {}
"""
    (kernel,) = kernels(source)
    assert [each.type for each in kernel.parameters] == [None, "float32"]


def test_a_macro_before_the_name_is_no_part_of_it() -> None:
    text = """BEGIN_NAMESPACE
    IMPLEMENT_CLASS(Field)
    int used;
    __global__ void OUR_BOUNDS
    fill(Real *p, int n) { p[n] = 0; }
    __global__ void scope::plain(float *p) { *p = 0; }
    """
    first, second = kernels(text)
    assert (first.name, first.readable) == ("fill", True)
    assert [each.name for each in first.parameters] == ["p", "n"]
    assert second.name == "scope::plain"


def test_a_template() -> None:
    kernel = _kernel("ns::gemm")
    assert [(t.name, t.kind, t.default) for t in kernel.template] == [
        ("TILE", "int", None),
        ("T", "typename", "float"),
        ("MODE", "int", "0"),
    ]
    assert kernel.launch_bounds == "256, 2"
    assert kernel.line == 8
    assert [(p.name, p.type, p.pointer, p.const) for p in kernel.parameters] == [
        ("A", None, True, True),
        ("B", "float32", True, True),
        ("C", None, True, False),
        ("M", "uint32", False, False),
        ("N", "uint64", False, True),
        ("alpha", "float32", False, False),
    ]


def test_types_that_cannot_be_passed_are_none() -> None:
    kernel = _kernel("odd")
    assert [(p.name, p.type, p.pointer, p.const) for p in kernel.parameters] == [
        ("x", None, True, False),
        ("y", "float32", True, True),
        ("z", "float32", True, False),
        ("p", None, True, False),
        ("t", None, False, False),
        ("s", None, False, False),
        ("r", None, False, False),
        ("n", "uint64", False, False),
    ]


def test_types_of_many_names() -> None:
    kernel = _kernel("inner")
    found = [p.type for p in kernel.parameters]
    assert found == ["float16", "bfloat16", "int64", "int16", "int8", "uint8", "bool"]


def test_a_kernel_without_parameters() -> None:
    assert _kernel("empty").parameters == ()


@pytest.mark.parametrize(
    "source",
    [
        "__global__ void k(\n#ifdef X\nint q,\n#endif\nint n) {}",
        "__global__ void k(MACRO(int, n) int m) {}",
    ],
)
def test_what_cannot_be_read_is_not_taken_for_read(source) -> None:
    assert not any(kernel.readable for kernel in kernels(source))


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("int main() { return 0; }", True),
        ("int main(int argc, char** argv) {}", True),
        ("auto main() -> int { return 0; }", True),
        ('extern "C" int main() {}', True),
        ("#ifdef STANDALONE\nint main() {}\n#endif", True),
        ("// int main() {}", False),
        ('const char* s = "int main() {}";', False),
        ("/*\nint main() {}\n*/", False),
        ("int main();", False),
        ("namespace a { int main() {} }", False),
        ("struct S { int main() { return 1; } };", False),
        ("__global__ void main_kernel() {}", False),
        ("int maine() {}", False),
        ("", False),
    ],
)
def test_a_program_of_its_own(source, expected) -> None:
    assert has_main(source) is expected


def test_includes_in_quotes() -> None:
    assert quoted_includes(SOURCE) == ("tiles.cuh",)


def test_choosing_a_kernel() -> None:
    found = kernels(SOURCE)
    assert choose(found, "ns::gemm<16>", "k.cu").name == "ns::gemm"
    assert choose(found, "gemm", "k.cu").name == "ns::gemm"
    assert choose(found[:1], None, "k.cu").name == "ns::gemm"
    with pytest.raises(InputError, match="5 kernels: ns::gemm, odd"):
        choose(found, None, "k.cu")
    with pytest.raises(InputError, match="no kernel 'other'"):
        choose(found, "other", "k.cu")
    with pytest.raises(InputError, match="no __global__"):
        choose([], None, "k.cu")


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ("const float* A, const float* B, float* C, int M", None),
        ("const T* A, const T* B, T* C, int M", None),
        ("const float* A, const float* B, float* C", "3 parameters, but the specification has 4"),
        ("const float* A, const float* B, float* C, long M", "'M' is a scalar of int32"),
        ("const float* A, const float* B, double* C, int M", "'C' is an array of float32"),
        ("const T* A, const T* B, T* C, T M", "'M' is a scalar of int32.*with type float32 in"),
        ("const float* A, const float* B, int M, float* C", "'C' is an array of float32"),
        ("const float* A, const float* B, const float* C, int M", "cannot write"),
    ],
)
def test_arguments_have_to_be_those_of_the_kernel(read, parameters, said) -> None:
    spec = read(SGEMM.replace('"sgemm"', '"sgemm<float>"'))
    (kernel,) = kernels(f"template <typename T> __global__ void sgemm({parameters}) {{}}")
    if said is None:
        check_arguments(spec, kernel)
        return
    with pytest.raises(InputError, match=said):
        check_arguments(spec, kernel)
