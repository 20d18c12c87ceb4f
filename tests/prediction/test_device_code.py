"""What is left of a source for the device: line by line."""

from __future__ import annotations

import re
import sys

import pytest
from tests.launch.conftest import KERNEL, SGEMM, commented

from kernelprof.prediction.device_code import Search, extract_device_code

ALL = """\
#include <vector>
#include <cuda_runtime.h>
#define HD __host__ __device__
#define ALSO HD inline
#define CHECK(x) if ((x) != cudaSuccess) exit(1)
using namespace std;
using namespace std::chrono;
using std::vector;
namespace cg = cooperative_groups;
namespace fs = std::filesystem;
typedef unsigned int u32;
typedef float (*operation)(float, u32);
typedef void (*callback)(cudaStream_t);
using pair4 = float4;
enum Mode { COPY, ADD = 3 };
enum class Host : int { COPY };
const int N = 1024, M = N;
const int UNUSED = atoi("3");
constexpr float TABLE[] = {1.0f, 2.0f};
static int counter = 0;
std::vector<float> data(100);
__constant__ float weights[N];
__device__ operation chosen;
ALSO float square(float a) { return a * a; }
HD float cube(float a) { return a * a * a; }
FROM_A_HEADER float fourth(float a) { return a * a * a * a; }
FROM_A_HEADER float host_fourth(float a) { return pow(a, 4); }
constexpr int ceil_div(int a, int b) { return (a + b - 1) / b; }
constexpr int host_div(int a, int b) { return std::div(a, b).quot; }
float host_sum(const std::vector<float>& a);
struct Box { float low; float size() const { return 1; } HD float end() const { return low; } };
struct Timer { cudaEvent_t start; Timer() { cudaEventCreate(&start); } };
struct __align__(16) Wide { float x[4]; };
static_assert(sizeof(Box) == 4, "box");
static_assert(sizeof(Timer) == 8, "timer");
template <typename T> struct Traits { static constexpr int n = COPY; };
template <> struct Traits<float> { static constexpr int n = ADD; };
template <typename T> __device__ T half_of(T a) { return a / Traits<T>::n; }
template <int T> void launch(float* x) { scale<T><<<1, T>>>(x); }
template void launch<4>(float*);
template <int T> __global__ void scale(float* x, Box box, Wide wide) {
    x[0] = square(T) + cube(M) + TABLE[threadIdx.x] + fourth(half_of(box.end())) + pair4().x;
    x[1] = ceil_div(T, 3) + cg::this_thread_block().size() + wide.x[0] + chosen(1, u32(2));
}
template __global__ void scale<4>(float*, Box, Wide);
extern "C" { void host_in_c() { counter++; } __device__ int device_in_c() { return 1; } }
extern "C" void alone() {}
namespace inner { namespace { void go() { host_sum(data); } __device__ int one = 1; } }
#ifdef _WIN32
void wait() { Sleep(1); }
#else
void wait() { usleep(1); }
__device__ int branch() { return 2; }
#endif
int main(int argc, char** argv) {
#define AFTER 7
#ifdef DEBUG
    puts("debug");
#endif
    CHECK(cudaMalloc(&data, \\
        4));
    scale<4><<<1, 32>>>(x, Box{}, Wide{});
}
__device__ int after() { return AFTER; }
"""

LEFT = """\

#include <cuda_runtime.h>
#define HD __host__ __device__
#define ALSO HD inline
#define CHECK(x) if ((x) != cudaSuccess) exit(1)
using namespace std;


namespace cg = cooperative_groups;

typedef unsigned int u32;
typedef float (*operation)(float, u32);

using pair4 = float4;
enum Mode { COPY, ADD = 3 };
           ;
const int N = 1024, M = N;

constexpr float TABLE[] = {1.0f, 2.0f};


__constant__ float weights[N];
__device__ operation chosen;
ALSO float square(float a) { return a * a; }
HD float cube(float a) { return a * a * a; }
FROM_A_HEADER float fourth(float a) { return a * a * a * a; }

constexpr int ceil_div(int a, int b) { return (a + b - 1) / b; }


struct Box { float low;                                   HD float end() const { return low; } };
                                                                       ;
struct __align__(16) Wide { float x[4]; };
static_assert(sizeof(Box) == 4, "box");

template <typename T> struct Traits { static constexpr int n = COPY; };
template <> struct Traits<float> { static constexpr int n = ADD; };
template <typename T> __device__ T half_of(T a) { return a / Traits<T>::n; }


template <int T> __global__ void scale(float* x, Box box, Wide wide) {
    x[0] = square(T) + cube(M) + TABLE[threadIdx.x] + fourth(half_of(box.end())) + pair4().x;
    x[1] = ceil_div(T, 3) + cg::this_thread_block().size() + wide.x[0] + chosen(1, u32(2));
}
template __global__ void scale<4>(float*, Box, Wide);
extern "C" {                                 __device__ int device_in_c() { return 1; } }

namespace inner { namespace {                                __device__ int one = 1; } }
#ifdef _WIN32

#else

__device__ int branch() { return 2; }
#endif

#define AFTER 7
#ifdef DEBUG

#endif




__device__ int after() { return AFTER; }
"""


@pytest.fixture
def search(tmp_path) -> Search:
    """A folder of a user's, and a toolkit with two headers."""
    toolkit = tmp_path / "toolkit"
    for name in ("cuda_runtime.h", "cub/cub.cuh", "cuda/std/array", "cuda_gl_interop.h"):
        (toolkit / name).parent.mkdir(parents=True, exist_ok=True)
        (toolkit / name).write_text("")
    (tmp_path / "home").mkdir()
    return Search(tmp_path / "home", toolkit=[toolkit])


def _squeezed(text: str) -> list[str]:
    return [" ".join(line.split()) for line in text.splitlines()]


def test_the_host_is_gone_and_the_device_is_there(search) -> None:
    found = extract_device_code(ALL, search)
    assert _squeezed(found.source) == _squeezed(LEFT)
    assert found.source.splitlines()[-1] == ALL.splitlines()[-1]
    assert found.missing == ("<vector>",)


def test_each_byte_stays_in_its_line_and_column(search) -> None:
    source = '// größer\nint host() { puts("ä"); }  __device__ int k;\r\n' + ALL
    found = extract_device_code(source, search).source
    assert found.count("\n") == source.count("\n")
    for was, now in zip(source.split("\n"), found.split("\n"), strict=True):
        if "#include" not in was:
            assert len(was.encode()) == len(now.encode())
            assert now.endswith("\r") == was.endswith("\r")
            kept = [(a, b) for a, b in zip(was.encode(), now.encode(), strict=True) if b != 32]
            assert all(a == b for a, b in kept)


def test_device_code_alone_stays_as_it_is(search) -> None:
    source = commented(SGEMM) + KERNEL
    assert extract_device_code(source, search).source == source


def test_what_the_kernels_name_mentions_is_needed(search) -> None:
    source = "struct Shape { int n; };\nstruct Other { int n; };\n"
    source += "template <typename T> __global__ void k(int* x) { *x = T().n; }\n"
    kept = extract_device_code(source, search, "k<Shape>").source
    assert "Shape" in kept
    assert "Other" not in kept


KERNELS = """\
#define ENTRY extern "C" __global__ void
#define NAMES(name) __global__ void name(int* x) { *x = 3; }
struct Of { int n; };
__global__ void declared(int* x);
__global__ void other(int* x, Of of) { *x = of.n; }
template <typename T> __global__ void table(T* x) { *x = 1; }
template __global__ void table<int>(int* x);
ENTRY plain(int* x) { *x = 2; }
namespace a { __global__ void plain(float* x) { *x = 2; } }
__device__ void helper(int* x) { declared<<<1, 1>>>(x); }
__global__ void first(int* x) { table<<<1, 1>>>(x); }
__global__ void declared(int* x) { *x = 4; }
NAMES(of_macro)
"""


@pytest.mark.parametrize(
    ("kernel", "gone"),
    [
        ("plain", {5, 3, 6, 7, 11}),
        ("a::plain", {5, 3, 6, 7, 11}),
        ("first", {5, 3}),
        ("table<int>", {5, 3, 11}),
        ("other", {6, 7, 11}),
        ("of_macro", set()),
        ("", set()),
    ],
)
def test_other_kernels_are_left_out(search, kernel, gone) -> None:
    kept = extract_device_code(KERNELS, search, kernel).source.splitlines()
    left_out = {
        number
        for number, (was, now) in enumerate(zip(KERNELS.splitlines(), kept, strict=True), 1)
        if len(now.split()) < len(was.split()) / 2
    }
    assert left_out == gone


NOT_ALONE = {
    "a macro before it": "#define TRAITS template <> struct T<int> { int a; };\nTRAITS\n{}\n",
    "a macro that names it": "#define SPECIAL(T) template <> __global__ void k<T>(T* x)\n"
    "SPECIAL(float) {{ *x = 1; }}\n",
    "one of a header's": "BEGIN_NAMESPACE\n{}\nEND_NAMESPACE\n",
    "an include in it": '__global__ void other(int* x) {{\n#include "width.inc"\n}}\n',
    "braces of two branches": "__global__ void other(int* x) {{\n#if A\n  if (*x) {{\n#else\n"
    "  {{\n#endif\n  }} }}\n",
}


@pytest.mark.parametrize("source", NOT_ALONE.values(), ids=NOT_ALONE)
def test_a_kernel_that_may_hold_more_stays(search, source) -> None:
    text = source.replace("{}", "__global__ void other(int* x) { *x = 1; }")
    text = text.replace("{{", "{").replace("}}", "}")
    text += "template <typename T> __global__ void k(T* x) { *x = 1; }\n"
    kept = extract_device_code(text, search, "k<float>").source
    without = "".join(line for line in text.splitlines(True) if "#include" not in line)
    assert kept.replace(" ", "").replace("\n\n", "\n") == without.replace(" ", "")


DEFINED = {
    "of the host": ("void run_##name(torch::Tensor x) { CHECK(x) k<<<1, 1>>>(0); }", False),
    "with its kernel": (
        "__global__ void name(int* x) { *x = 1; } void run_##name() { name<<<1, 1>>>(0); }",
        True,
    ),
    "with a kernel of another macro": (
        "KERNEL(name) void run_##name() { name<<<1, 1>>>(0); }",
        True,
    ),
}


@pytest.mark.parametrize(("body", "stays"), DEFINED.values(), ids=DEFINED)
def test_functions_of_the_host_that_a_macro_defines_are_gone(search, body, stays) -> None:
    text = "#define KERNEL(name) __global__ void name(int* x) { *x = 1; }\n"
    text += "__global__ void k(int* x) { *x = 1; }\n#define CHECK(x) x.check();\n"
    text += f"#define BIND(name) \\\n  {body}\nBIND(one)\nBIND(two)\n"
    found = extract_device_code(text, search).source
    assert [f"BIND({each})" in found for each in ("one", "two")] == [stays, stays]
    assert found.count("\n") == text.count("\n")


MEMBERS = {
    "void host() { puts(host_name); }": False,
    "Box() : low(host_start()) {}": False,
    "~Box() { free(memory); }": False,
    "Box(const Box&) = default;": True,
    "__host__ Box(int a) = default;": False,
    "void host(std::ostream& out) const;": False,
    "friend std::ostream& operator<<(std::ostream& out, const Box& box) { return out; }": False,
    "template <typename T> T get() const { return T(low); }": False,
    "template <typename T> __device__ T get() const { return T(low); }": True,
    "constexpr int size() const { return 4; }": True,
    "static constexpr int n = 3;": True,
    "struct Inner { int a; };": True,
    "using type = float;": True,
    "__host__ __device__ Box& operator=(const Box&) { return *this; }": True,
    "operator bool() const { return true; }": False,
    "virtual void host() = 0;": False,
    "float (*operation)(float, int);": True,
    "float (*table[4])(float);": True,
    "struct { int a; __device__ int get() { return a; } } inner;": True,
    "int bits : 3;": True,
}


@pytest.mark.parametrize(("member", "stays"), MEMBERS.items(), ids=MEMBERS)
def test_members_of_a_class(search, member, stays) -> None:
    source = f"struct Box {{ float low; {member} float high; }};\n"
    source += "__global__ void k(Box box, float* x) { *x = box.low; }\n"
    found = extract_device_code(source, search).source
    assert (member in found) == stays
    assert re.search(r"float low;.*float high;", found)


def test_members_within_members_and_behind_conditions(search) -> None:
    source = """\
struct Box {
#ifdef DEBUG
    void print() { puts("x"); }
#else
    struct Inner { void host() { puts("y"); } __device__ int get() { return 1; } int a; } inner;
#endif
};
__global__ void k(Box box, int* x) { *x = box.inner.get(); }
"""
    found = extract_device_code(source, search).source
    assert "puts" not in found
    assert "__device__ int get() { return 1; } int a; } inner;" in found
    assert found.count("#") == 3


def test_deep_nesting_is_no_matter(search) -> None:
    deep = 3000
    source = "namespace a {\n" * deep + "void host() {}\n__device__ int k;\n" + "}\n" * deep
    found = extract_device_code(source, search).source
    assert "host" not in found
    assert "__device__ int k;" in found
    source = "#if A\nvoid host() {}\n" + "#elif B\nvoid host() {}\n" * deep + "#endif\n"
    assert "host" not in extract_device_code(source, search).source
    source = "struct S {\n" * deep + "void host() {}\n" + "};\n" * deep + "__device__ S s;\n"
    assert "host" not in extract_device_code(source, search).source


@pytest.mark.parametrize(
    ("line", "stays"),
    [
        ("#include <cuda_runtime.h>", True),
        ("#include <iostream>", False),
        ("#include <array>", False),
        ('#include "helper.h"', False),
        ("#include <cub/cub.cuh>", False),
        ("#include <cuda_gl_interop.h>", False),
        ("#include CONFIGURATION", True),
        ("#pragma once", True),
    ],
)
def test_includes(search, line, stays) -> None:
    found = extract_device_code(f"{line}\n__device__ int k;\n", search)
    assert (found.source.splitlines()[0] == line) == stays
    assert not found.headers


def test_what_device_code_seems_to_need_is_included(search) -> None:
    source = "#include <array>\n#include <cub/cub.cuh>\n#include <span>\n"
    used = source + "__device__ std::array<int, 2> a;\n__device__ cub::Sum sum;\n"
    found = extract_device_code(used, search)
    assert found.source.splitlines()[:3] == [*source.splitlines()[:2], ""]
    assert found.missing == ("<span>",)
    assert not found.spared
    (text,) = found.headers.values()
    assert "#include <cuda/std/array>" in text
    plain = extract_device_code(source + "__device__ int k;\n", search)
    assert plain.spared
    assert not plain.headers
    every = extract_device_code(source + "__device__ int k;\n", search, spare=False)
    assert list(every.headers) == ["array"]
    assert not every.spared


def test_a_whole_namespace_in_use_is_not_taken_for_a_need(search) -> None:
    source = "using namespace std;\n__device__ array<int, 2> a;\n"
    found = extract_device_code("#include <array>\n" + source, search)
    assert found.spared
    assert not found.headers
    assert extract_device_code(source, search).spared
    assert not extract_device_code("__device__ int k;\n", search).spared


def test_headers_beside_the_source_lose_the_hosts_code_as_well(search) -> None:
    inner = search.home / "inner"
    inner.mkdir()
    (search.home / "common.h").write_text(
        '#include "inner/types.h"\n#define DEVICE __device__\nvoid host() { puts("x"); }\n'
        "DEVICE inline int twice(Number a) { return 2 * a; }\n"
    )
    (inner / "types.h").write_text('#include "more.h"\ntypedef int Number;\ntypedef FILE* File;\n')
    (inner / "more.h").write_text("#pragma once\nconst int LIMIT = 3;\nFILE* log_file;\n")
    source = '#include "common.h"\n#include <inner/more.h>\n'
    source += "DEVICE int k(int a) { return twice(a) + LIMIT; }\n"
    found = extract_device_code(source, search)
    home = search.home.resolve()
    names = [f"{home}/{name}" for name in ("common.h", "inner/types.h", "inner/more.h")]
    assert sorted(found.headers) == sorted(names)
    assert found.source.splitlines()[:2] == [f'#include "{names[0]}"', f'#include "{names[2]}"']
    common, types, more = (found.headers[each].splitlines() for each in names)
    assert common[0] == f'#include "{names[1]}"'
    assert "puts" not in common[2]
    assert "twice" in common[3]
    assert types == [f'#include "{names[2]}"', "typedef int Number;", ""] or not types[2].strip()
    assert more[:2] == ["#pragma once", "const int LIMIT = 3;"]
    assert not more[2].strip()


def test_folders_are_searched_in_the_order_of_nvcc(search, tmp_path) -> None:
    for where in ("one", "system"):
        (tmp_path / where).mkdir()
    first = Search(search.home, [tmp_path / "one"], [tmp_path / "system"], search.toolkit)
    for where, name in (("home", "a.h"), ("one", "a.h"), ("system", "a.h"), ("system", "b.h")):
        (tmp_path / where / name).write_text("")
    assert first.find('"a.h"', first.home) == tmp_path / "home" / "a.h"
    assert first.find("<a.h>", first.home) == tmp_path / "one" / "a.h"
    assert first.find("<b.h>", first.home) == tmp_path / "system" / "b.h"
    assert first.find("<cuda_runtime.h>", first.home) == tmp_path / "toolkit" / "cuda_runtime.h"
    assert first.find("<none.h>", first.home) is None
    (tmp_path / "one" / "cuda_runtime.h").write_text("")
    assert first.find("<cuda_runtime.h>", first.home) == tmp_path / "one" / "cuda_runtime.h"


def test_a_large_library_stays_on_its_disk(search, monkeypatch) -> None:
    monkeypatch.setattr(sys.modules[extract_device_code.__module__], "_MOST_BYTES", 100)
    (search.home / "small.h").write_text("void host() {}\n")
    (search.home / "large.h").write_text("void host() {}\n" * 10)
    found = extract_device_code(
        '#include "small.h"\n#include "large.h"\n__device__ int k;\n', search
    )
    assert list(found.headers) == [str(search.home.resolve() / "small.h")]
    assert found.source.splitlines()[1] == '#include "large.h"'
