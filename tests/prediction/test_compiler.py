"""NVRTC in the place of ``nvcc``: what compiles, what it says, and what it calls files."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.support.few import few

from kernelprof.errors import InputError, MissingToolError
from kernelprof.launch.build import options
from kernelprof.launch.build.compilation import (
    CompileError,
    build_kernel,
    compile_failure,
    parse_spills,
    parse_warnings,
)
from kernelprof.launch.specification.reader import load_spec
from kernelprof.prediction import nvrtc
from kernelprof.prediction.compiler import DeviceCompiler, nvrtc_options
from sassim.disassembler import disassemble
from sassim.sass.elf import list_kernels, read_parameters

ROOT = Path(__file__).parents[2]
PTXAS = ROOT / "tests" / "launch" / "ptxas"
HOSTILE = ("f`pwned`", 'f";pwned;"', "f\\x", "größer", "-o x", "日本", "f\npwned\n")

PROGRAM = """\
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <random>
#include <vector>
#include <cufft.h>
#include <thrust/device_vector.h>
#include "timer.h"

#define CHECK(call) do { if ((call) != cudaSuccess) { std::cerr << #call; exit(1); } } while (0)
const int N = 1 << 20;
static std::vector<float> results;

struct Options { std::string name; int n = N; };

template <typename T> struct Scale {
    T factor;
    Scale(T factor) : factor(factor) { std::cout << "made\\n"; }
    __host__ __device__ T operator()(T x) const { return x * factor; }
};

template <typename T, int BLOCK> __global__ void scaled(const T* x, T* y, int n, Scale<T> scale) {
    for (int i = blockIdx.x * BLOCK + threadIdx.x; i < n; i += BLOCK * gridDim.x) {
        y[i] = scale(x[i]);
    }
}

static float elapsed(const std::chrono::steady_clock::time_point& start) {
    return std::chrono::duration<float>(std::chrono::steady_clock::now() - start).count();
}

int main(int argc, char** argv) {
    thrust::device_vector<float> x(N), y(N);
    Timer timer;
    scaled<float, 256><<<N / 256, 256>>>(x.data().get(), y.data().get(), N, Scale<float>(2));
    CHECK(cudaDeviceSynchronize());
    std::cout << elapsed(timer.start) << "\\n";
    return 0;
}
"""
TIMER = """\
#pragma once
#include <cuda_runtime.h>
struct Timer {
    cudaEvent_t start;
    Timer() { cudaEventCreate(&start); }
};
"""


def test_a_program_with_its_host_is_compiled_for_the_device(compile_cu, tmp_path) -> None:
    (tmp_path / "timer.h").write_text(TIMER)
    done = compile_cu(PROGRAM, "-lineinfo", kernel="scaled<float, 256>")
    assert done.entry == "_Z6scaledIfLi256EEvPKT_PS0_i5ScaleIS0_E"
    assert list_kernels(done.cubin) == (done.entry,)
    assert [each.size for each in read_parameters(done.cubin, done.entry)] == [8, 8, 4, 4]


ARCHITECTURES = (
    "sm_75",
    "sm_80",
    "sm_86",
    "sm_89",
    "sm_90",
    "sm_90a",
    "sm_100",
    "sm_120",
    "sm_120a",
)


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.slow("a compilation each")
def test_each_architecture_gets_code_of_its_own(compile_cu, toolchain, arch) -> None:
    source = "#if __CUDA_ARCH__ != CAPABILITY\n#error other\n#endif\n"
    source += 'extern "C" __global__ void k(int* x) { *x = 1; }\n'
    define = f"-DCAPABILITY={re.sub('[a-z_]', '', arch)}0"
    text = disassemble(compile_cu(source, define, arch=arch).cubin, toolchain.nvdisasm)
    assert "STG.E" in text


def test_an_architecture_that_it_does_not_know_is_refused(compile_cu) -> None:
    with pytest.raises(InputError, match="cannot compile for sm_70") as caught:
        compile_cu("int x;", arch="sm_70")
    assert "only for sm_75, " in caught.value.what
    assert caught.value.hint == "choose one of the supported architectures"
    with pytest.raises(InputError) as caught:
        compile_cu("int x;", arch="sm_990a")
    assert "kernelprof[predict]" in (caught.value.hint or "")


INSTANCES = {
    "ns::copy<64, float>": "_ZN2ns4copyILi64EfEEvPT0_",
    "copy<64>": "_ZN2ns4copyILi64EdEEvPT0_",
    "ns::copy<SIZE, ns::Number>": "_ZN2ns4copyILi32EiEEvPT0_",
}


@pytest.mark.parametrize(("kernel", "entry"), INSTANCES.items())
def test_the_compiler_tells_instances_of_a_template_apart(compile_cu, kernel, entry) -> None:
    source = """\
namespace ns {
typedef int Number;
template <int TILE, typename T = double> __global__ void copy(T* x) { *x = TILE; }
template __global__ void copy<64, float>(float*);
template __global__ void copy<64, double>(double*);
template __global__ void copy<32, int>(int*);
}
using ns::copy;
const int SIZE = 32;
"""
    done = compile_cu(source, kernel=kernel)
    assert done.entry == entry
    assert len(list_kernels(done.cubin)) == 3


TOML = """\
kernel = "{kernel}"
block = [64]
grid = [1]
reference = "none"
sizes = {{ n = 64 }}
arguments = [{{ name = "x", type = "float32", shape = ["n"], output = true }}]
"""


@pytest.fixture
def made(tmp_path):
    """Makes a source with its specification in a folder of that name; its path."""

    def make(source: str, kernel: str = "k", folder: str = "sources") -> Path:
        place = tmp_path / folder
        place.mkdir()
        (place / "k.toml").write_text(TOML.format(kernel=kernel))
        (place / "k.cu").write_text(source)
        return place / "k.cu"

    return make


def failure(toolchain, source: Path) -> CompileError:
    """What is said of a source that does not compile."""
    spec = load_spec(source)
    compiler = DeviceCompiler(toolchain, spec.kernel)
    with pytest.raises(CompileError) as caught:
        build_kernel(spec, source, "sm_90", compiler.cubin, compiler.printable_path(source))
    return compile_failure(source, caught.value.what, kernel=spec.kernel)


def test_an_error_has_the_users_line_and_what_to_do(toolchain, made) -> None:
    source = made("int main() {\n}\n\n__global__ void k(float* x) {\n    x[0] = missing;\n}\n")
    error = failure(toolchain, source)
    assert error.where == f"{source}:5"
    assert error.hint == "declare missing, or add it to [compile] defines"
    assert "kernel.cu" not in error.what


def test_an_error_in_a_header_has_its_line(toolchain, made) -> None:
    source = made('#include "h.cuh"\n__global__ void k(float* x) { x[0] = f(); }\n')
    header = source.parent / "h.cuh"
    header.write_text("void host() {}\n\n__device__ float f() { return missing; }\n")
    assert failure(toolchain, source).where == f"{header}:3"


def test_what_was_not_found_is_told_beside_the_error(toolchain, made) -> None:
    source = made("#include <nowhere.cuh>\n__global__ void k(float* x) { x[0] = of_nowhere(); }\n")
    error = failure(toolchain, source)
    assert error.where == f"{source}:2"
    assert "headers left out (not found, or for graphics): <nowhere.cuh>" in error.what
    assert error.hint == (
        "the missing declaration may be in a header left out (<nowhere.cuh>): give the header "
        'folder with flags = ["-IFOLDER"] under [compile]'
    )


def test_template_arguments_that_do_not_fit_are_told_as_such(toolchain, made) -> None:
    source = made("template <int N> __global__ void k(float* x) { x[0] = N; }\n", "k<float>")
    assert "template arguments of kernel = 'k<float>'" in (failure(toolchain, source).hint or "")


@pytest.mark.parametrize("folder", ["plain", *HOSTILE])
@pytest.mark.slow("a compilation each")
def test_lines_name_the_users_files_whatever_they_are_called(toolchain, made, folder) -> None:
    text = '#include "h.cuh"\n__global__ void k(float* x) {\n    x[0] = f(x[1]);\n}\n'
    source = made(text, folder=folder)
    header = source.parent / "h.cuh"
    header.write_text("__device__ inline float f(float a) {\n    return sinf(a);\n}\n")
    spec = load_spec(source)
    compiler = DeviceCompiler(toolchain, spec.kernel)
    built = build_kernel(spec, source, "sm_90", compiler.cubin, compiler.printable_path(source))
    listing = disassemble(built.cubin, toolchain.nvdisasm)
    names = {compiler.real_names(name) for name in re.findall(r'//## File "([^"]*)"', listing)}
    assert names == {str(source), str(header)}
    assert built.entry == "_Z1kPf"
    header.write_text("\n\nbroken\n")
    # The place is read from one line of what the compiler writes.
    where = failure(toolchain, source).where or ""
    assert where.splitlines()[-1] == f"{header}:3".splitlines()[-1]


def test_spills_and_warnings_are_read_as_those_of_nvcc(compile_cu) -> None:
    source = (PTXAS / "warnings.cu").read_text()
    done = compile_cu(source, "-maxrregcount=64", arch="sm_90a", home=PTXAS)
    names = list_kernels(done.cubin)
    of_spills = parse_warnings(done.messages, "spills", names)
    assert {"C7511"} <= {each.code for each in of_spills if each.function == "spills"}
    found = parse_spills(done.messages, "spills")
    assert found is not None
    assert min(found) > 0
    assert parse_spills(compile_cu(source, arch="sm_90a", home=PTXAS).messages, "right") == (0, 0)


VALUES = (
    ("float", "VALUE x = 1;"),
    ("unsigned int", "VALUE x = 1u;"),
    ("-3", "static_assert(VALUE == 0 - 3);"),
    ("(1<<4)", "static_assert(VALUE == 16);"),
    ('"a, b;c"', "static_assert(sizeof(VALUE) == 7); const char* x = VALUE;"),
    ("'c'", "static_assert(VALUE == 99);"),
    ("1 > 0 || 2 < 1 && !0 ? 5 : 6 & ~7", "static_assert((VALUE) == 5);"),
    ("{ 1, 2 }", "int x[] = VALUE; static_assert(sizeof(x) == 8);"),
)


@pytest.mark.parametrize(("value", "line"), VALUES)
def test_a_define_has_its_value(compile_cu, value, line) -> None:
    assert compile_cu(f"__global__ void k() {{ {line} }}\n", f"-DVALUE={value}").cubin


def test_folders_and_files_are_found_as_beside_the_source(compile_cu, tmp_path) -> None:
    """In quotes beside the source at first; in brackets, the folders of the flags at first."""
    for where in ("home", "one", "two"):
        (tmp_path / where).mkdir()
        for name in ("first.cuh", f"{where}.cuh"):
            (tmp_path / where / name).write_text(f"#define FROM_{where} 1\n")
    (tmp_path / "home" / "pre.cuh").write_text("#define PRE MACRO + 1\n")
    source = '#include "first.cuh"\n#ifndef FROM_home\n#error other\n#endif\n'
    source += "#include <first.cuh>\n#ifndef FROM_one\n#error folder\n#endif\n"
    source += "#include <two.cuh>\nstatic_assert(PRE + FROM_two == 4);\n__global__ void k() {}\n"
    options = [f"-I{tmp_path}/one", f"-isystem={tmp_path}/two", "-include=pre.cuh", "-DMACRO=2"]
    assert compile_cu(source, *options, home=tmp_path / "home").cubin


def test_headers_of_a_toolkit_elsewhere_are_not_mixed_in(compile_cu, tmp_path) -> None:
    (tmp_path / "cuda_runtime.h").write_text("#error another version\n")
    (tmp_path / "cuda_fp16.h").write_text("#error another version\n")
    home = tmp_path / "home"
    home.mkdir()
    source = "#include <cuda_runtime.h>\n#include <cuda_fp16.h>\n__global__ void k(half* x) {}\n"
    assert compile_cu(source, f"-I{tmp_path}", home=home).cubin


@pytest.mark.parametrize("option", ['-frandom-seed=";id;"', "-ccbin=./sh", "-DX=`id`", "-DX;=1"])
def test_an_option_that_nobody_checked_is_refused(compile_cu, option) -> None:
    with pytest.raises(InputError, match="flag"):
        compile_cu("int x;", option)


def test_a_value_that_only_nvcc_takes_is_told(compile_cu) -> None:
    with pytest.raises(InputError, match=r"NVRTC does not support .*--std") as caught:
        compile_cu("int x;", "-std=gnu++17")
    assert "[compile] flags" in (caught.value.hint or "")


def test_the_same_source_gives_the_same_code_wherever_it_is(
    compile_cu, tmp_path, monkeypatch
) -> None:
    """Also the names of what has none outside."""
    source = "namespace { __global__ void k(float* x) { x[threadIdx.x] = 1; } }\n"
    source += 'extern "C" __global__ void j(float* x) { (void)&k; *x = 1; }\n'
    first = compile_cu(source, "-lineinfo")
    monkeypatch.chdir(tmp_path.parent)
    (tmp_path / "other").mkdir()
    again = compile_cu(source, "-lineinfo", home=tmp_path / "other")
    assert len(list_kernels(first.cubin)) == 2
    assert again.cubin == first.cubin


def test_the_current_folder_is_not_searched(compile_cu, tmp_path, monkeypatch) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "here.cuh").write_text("#error found\n")
    monkeypatch.chdir(tmp_path / "here")
    source = '#define HEADER "here.cuh"\n#include HEADER\n'
    for text in (source, '#include "here.cuh"\n__device__ missing x;\n'):
        with pytest.raises(CompileError) as caught:
            compile_cu(text, home=tmp_path)
        assert "#error" not in caught.value.what


def test_a_library_that_fails_is_told(toolchain) -> None:
    class Broken:
        """Its builtins are gone."""

        def __getattr__(self, name: str) -> object:
            return getattr(toolchain.nvrtc, name)

        def nvrtcCompileProgram(self, *_: object) -> tuple[object]:  # noqa: N802
            return (toolchain.nvrtc.nvrtcResult.NVRTC_ERROR_BUILTIN_OPERATION_FAILURE,)

    with pytest.raises(MissingToolError, match="BUILTIN_OPERATION_FAILURE") as caught:
        nvrtc._compile(Broken(), nvrtc.NvrtcProgram("int x;", "x.cu", {}, (), None))
    assert "kernelprof[predict]" in (caught.value.hint or "")


KERNEL = """\
extern "C" __global__ void k(const float* x, float* y) { *y = *x / 3.0f + *x * *y; }
"""

TRANSLATED = {
    ("-O3", "-O0", "--optimize=2", "-g", "-m64", "-noeh", "--threads=2"): (),
    ("--extended-lambda", "-expt-relaxed-constexpr", "-res-usage"): (),
    ("-lineinfo", "--generate-line-info"): ("-lineinfo", "--generate-line-info"),
    ("--use_fast_math", "-use_fast_math"): ("--use_fast_math", "--use_fast_math"),
    ("-maxrregcount=32", "-ftz=true"): ("--maxrregcount=32", "--ftz=true"),
    ("-std=c++20", "-G", "-jtd=2"): ("--std=c++20", "-G", "-jtd=2"),
    ("-Xptxas=-v,-dlcm=cg", "--ptxas-options=-O1"): (
        *("--ptxas-options=-v", "--ptxas-options=-dlcm=cg"),
        "--ptxas-options=-O1",
    ),
}


@pytest.mark.parametrize(("given", "wanted"), TRANSLATED.items(), ids=str)
def test_translation(given, wanted) -> None:
    assert nvrtc_options(given) == wanted


NOT_ALONE = {"include", "pre-include", "I", "include-path", "isystem", "system-include"}
"""Options that name a file or a folder."""
EVERY = [
    *sorted(options._ALONE),
    *(
        f"{name}{'' if name in 'DUO' else '='}{example}"
        for name, (_, example) in options._VALUES.items()
        if name not in NOT_ALONE
    ),
]


@pytest.mark.slow("a kernel is compiled with each option")
@pytest.mark.parametrize("dashes", few(["-", "--"], "--", why="the same with one dash"))
def test_each_option_of_a_specification_is_taken(compile_cu, dashes: str) -> None:
    """Whatever ``nvcc`` takes, by each of its names."""
    refused = {}
    for option in EVERY:
        if (
            dashes == "--"
            and option[:1] in "DUO"
            and option.partition("=")[0] not in options._VALUES
        ):
            continue
        if nvrtc_options(options.divide_options([dashes + option]).plain):
            try:
                assert compile_cu(KERNEL, dashes + option).cubin
            except InputError as error:
                refused[option] = str(error)
    assert not refused


def test_options_change_the_code_as_they_should(compile_cu) -> None:
    plain = compile_cu(KERNEL).cubin
    assert compile_cu(KERNEL, "-O3", "-lineinfo").cubin != plain
    assert compile_cu(KERNEL, "-O0", "-g", "-Xptxas=-v").cubin == plain
    assert compile_cu(KERNEL, "--use_fast_math").cubin != plain
    assert compile_cu(KERNEL, "-Xptxas=-O0,-v").cubin != plain


def test_an_option_of_one_source_stays_out_of_the_next(compile_cu) -> None:
    """NVRTC itself takes the loads of every later program for read-only ones."""
    plain = compile_cu(KERNEL).cubin
    restricted = compile_cu(KERNEL, "--restrict").cubin
    assert restricted != plain
    assert compile_cu(KERNEL).cubin == plain
    assert compile_cu(KERNEL, "-restrict").cubin == restricted


def test_what_a_process_of_its_own_says_of_a_mistake(compile_cu) -> None:
    with pytest.raises(CompileError, match="nothing_of_the_kind"):
        compile_cu("__global__ void k() { nothing_of_the_kind(); }", "--restrict")
    with pytest.raises(InputError, match="NVRTC does not support"):
        compile_cu(KERNEL, "--restrict", "-std=c++98")
