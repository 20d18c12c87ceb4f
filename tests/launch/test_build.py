"""Building, as far as it goes without a GPU: with ``nvcc`` where there is one."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from tests.launch.conftest import stand_in
from tests.support.few import few

from kernelprof.errors import InputError
from kernelprof.launch.build.compilation import (
    Built,
    CompiledCubin,
    CompileError,
    Spills,
    build_kernel,
    compile_failure,
    compile_target,
    find_entry,
    instrument_source,
    parse_spills,
    parse_warnings,
    read_built,
    required_architecture,
    shorten_errors,
    write_built,
)
from kernelprof.launch.build.nvcc import Workshop, architecture_option, scratch
from kernelprof.launch.specification.reader import load_spec
from kernelprof.model.manifest import CompilerWarning
from sassim.errors import CubinError
from sassim.sass.elf import list_kernels

TEMPLATE = """\
namespace ns {
template <int TILE, typename T>
__global__ void copy(const T* x, T* y, int n) {
    int i = blockIdx.x * TILE + threadIdx.x;
    if (i < n) y[i] = x[i] * FACTOR;
}
}
__global__ void other(int* x) { *x = 1; }
"""
TOML = """\
kernel = "ns::copy<64, float>"
block = [64]
grid = ["ceil_div(n, 64)"]
reference = "copy"
sizes = { n = 1000 }
compile = { defines = { FACTOR = 1 } }
arguments = [
    { name = "x", type = "float32", shape = ["n"] },
    { name = "y", type = "float32", shape = ["n"], output = true },
    { name = "n", type = "int32", value = "n" },
]
"""


@pytest.fixture
def copy_cu(tmp_path):
    (tmp_path / "copy.toml").write_text(TOML)
    path = tmp_path / "copy.cu"
    path.write_text(TEMPLATE)
    return path


@pytest.fixture
def nvcc(tmp_path):
    """The compiler: in a folder of its own, to a cubin."""
    if shutil.which("nvcc") is None:
        pytest.skip("there is no nvcc here")
    return Workshop(tmp_path).cubin


def test_a_template_is_instantiated_and_found(copy_cu, nvcc) -> None:
    built = build_kernel(load_spec(copy_cu), copy_cu, "sm_90", nvcc)
    assert built.entry == "_ZN2ns4copyILi64EfEEvPKT0_PS1_i"
    assert built.options == ("-lineinfo", "-DFACTOR=1")
    assert set(list_kernels(built.cubin)) == {built.entry, "_Z5otherPi"}
    assert str(copy_cu).encode() in built.cubin or b"copy.cu" in built.cubin


def test_an_entry_that_the_compiler_names_is_not_looked_for(copy_cu, nvcc) -> None:
    def compiler(*asked: object) -> CompiledCubin:
        return CompiledCubin(nvcc(*asked).cubin, entry="_Z5otherPi")

    assert build_kernel(load_spec(copy_cu), copy_cu, "sm_90", compiler).entry == "_Z5otherPi"


WARPGROUP = """\
extern "C" __global__ void k(int* y) {
    asm volatile("wgmma.fence.sync.aligned;");
    *y = 1;
}
"""
OF_WARPGROUP = """\
kernel = "k"
block = [128]
grid = [1]
reference = "none"
arguments = [{ name = "y", type = "int32", shape = [1], output = true }]
"""


@pytest.fixture
def warpgroup_cu(tmp_path):
    (tmp_path / "k.toml").write_text(OF_WARPGROUP)
    path = tmp_path / "k.cu"
    path.write_text(WARPGROUP)
    return path


def test_what_only_this_gpu_has_compiles_unless_the_plain_set_is_asked_for(
    warpgroup_cu, nvcc
) -> None:
    built = build_kernel(load_spec(warpgroup_cu), warpgroup_cu, "sm_90", nvcc)
    assert built.arch == "sm_90a"
    plain = OF_WARPGROUP + "compile = { architecture_specific = false }\n"
    (warpgroup_cu.parent / "k.toml").write_text(plain)
    with pytest.raises(CompileError, match=r"'wgmma.fence' not supported on .target 'sm_90'"):
        build_kernel(load_spec(warpgroup_cu), warpgroup_cu, "sm_90", nvcc)


@pytest.mark.parametrize(
    ("arch", "target", "option"),
    [
        ("sm_75", "sm_75", "-arch=sm_75"),
        ("sm_89", "sm_89", "-arch=sm_89"),
        ("sm_90", "sm_90a", "-gencode=arch=compute_90a,code=sm_90a"),
        ("sm_103", "sm_103a", "-gencode=arch=compute_103a,code=sm_103a"),
        ("sm_120", "sm_120a", "-gencode=arch=compute_120a,code=sm_120a"),
    ],
)
def test_each_architecture_has_its_own_set(warpgroup_cu, arch, target, option) -> None:
    spec = load_spec(warpgroup_cu)
    assert compile_target(spec, arch) == target
    assert architecture_option(target) == option
    plain = OF_WARPGROUP + "compile = { architecture_specific = false }\n"
    (warpgroup_cu.parent / "k.toml").write_text(plain)
    assert compile_target(load_spec(warpgroup_cu), arch) == arch


@pytest.mark.parametrize(("arch", "more"), [("sm_999", False), ("sm_999a", True)])
def test_an_architecture_that_nvcc_does_not_know(tmp_path, nvcc, arch, more) -> None:
    (tmp_path / "s").mkdir()
    with pytest.raises(CompileError, match="Unsupported gpu architecture") as caught:
        nvcc("int x;\n", [], arch, tmp_path / "s")
    (tmp_path / "k.cu").write_text(WARPGROUP)
    hint = compile_failure(tmp_path / "k.cu", caught.value.what, kernel="k").hint or ""
    assert "install a CUDA toolkit that does" in hint
    assert ("architecture_specific = false" in hint) is more


def test_a_compile_error_names_the_users_line(copy_cu, nvcc) -> None:
    (copy_cu.parent / "copy.toml").write_text(TOML.replace("FACTOR = 1", "OTHER = 1"))
    with pytest.raises(CompileError) as caught:
        build_kernel(load_spec(copy_cu), copy_cu, "sm_90", nvcc)
    error = compile_failure(copy_cu, caught.value.what, kernel="ns::copy<64, float>")
    assert 'identifier "FACTOR" is undefined' in error.what
    assert error.where == f"{copy_cu}:5"
    assert error.hint == "declare FACTOR, or add it to [compile] defines"


def test_arguments_are_looked_at_before_it_is_compiled(copy_cu) -> None:
    lines = [line for line in TOML.splitlines() if 'name = "n"' not in line]
    (copy_cu.parent / "copy.toml").write_text("\n".join(lines))

    def never(*_arguments) -> CompiledCubin:
        raise AssertionError

    with pytest.raises(InputError, match="3 parameters"):
        build_kernel(load_spec(copy_cu), copy_cu, "sm_90", never)


def test_what_is_compiled_has_the_users_name(tmp_path) -> None:
    path = tmp_path / 'a "b".cu'
    first, second = instrument_source("\ufeffint x;", path, "k").split("\n")
    assert first == f'#line 1 "{tmp_path}/a \\"b\\".cu"'
    assert second == "int x;"


NAMES = (
    "plain",
    "_Z4copyPf",
    "_Z4copyILi8EEvPf",
    "_ZN2ns4copyILi64EfEEvPKT0_PS1_i",
    "_ZN12_GLOBAL__N_15innerEi",
    "_Z14not_a_4copyishi",
    "_Z5twicei",
    "_Z5twicef",
    "_ZL7privatei",
    "_Z4gemm14CUtensorMap_stS_Pfii",
    "_ZN2ns4gemvE14CUtensorMap_stPf",
)


@pytest.mark.parametrize(
    ("kernel", "entry"),
    [
        ("plain", "plain"),
        ("copy", "_Z4copyPf"),
        ("copy<8>", "_Z4copyILi8EEvPf"),
        ("ns::copy<64, float>", "_ZN2ns4copyILi64EfEEvPKT0_PS1_i"),
        ("private", "_ZL7privatei"),
        ("inner", "_ZN12_GLOBAL__N_15innerEi"),
        ("gemm", "_Z4gemm14CUtensorMap_stS_Pfii"),
        ("gemv", "_ZN2ns4gemvE14CUtensorMap_stPf"),
    ],
)
def test_an_entry_by_the_kernels_name(kernel, entry) -> None:
    assert find_entry(NAMES, kernel, "k.cu") == entry


@pytest.mark.parametrize(
    ("kernel", "said"), [("none", "no kernel 'none'"), ("twice", "more than one")]
)
def test_an_entry_that_is_not_one(kernel, said) -> None:
    with pytest.raises(CompileError, match=said):
        find_entry(NAMES, kernel, "k.cu")


@pytest.mark.parametrize("cubin", [b"", b"\x7fELF", b"\x7fELF\x02\x01" + b"\xff" * 90])
def test_what_is_no_cubin(cubin) -> None:
    with pytest.raises(CubinError, match="cubin"):
        list_kernels(cubin)


INSTANCES = {
    "_ZN2ns4copyILi32EfEEvPKT0_PS1_i": "void ns::copy<(int)32, float>(const T2 *, T2 *, int)",
    "_ZN2ns4copyILi64EfEEvPKT0_PS1_i": "void ns::copy<(int)64, float>(const T2 *, T2 *, int)",
    "_ZN2ns4copyILi64EdEEvPKT0_PS1_i": "void ns::copy<(int)64, double>(const T2 *, T2 *, int)",
    "_Z4flagILb0EEvPf": "void flag<(bool)0>(float *)",
    "_Z4flagILb1EEvPf": "void flag<(bool)1>(float *)",
    "_Z4castIjEvPT_": "void cast<unsigned int>(T1 *)",
    "_Z4castI6__halfEvPT_": "void cast<__half>(T1 *)",
    "_Z4castIlEvPT_": "void cast<long>(T1 *)",
    "_Z5shiftILin1EEvPf": "void shift<(int)-1>(float *)",
    "_Z5shiftILi1EEvPf": "void shift<(int)1>(float *)",
    "_Z5boxedIN1a1BIifEEEvT_": "void boxed<a::B<int, float>>(T1)",
    "_Z5boxedIdEvT_": "void boxed<double>(T1)",
    "_Z5pixelI5MaxOpEvPh": "void pixel<MaxOp>(unsigned char *)",
    "_Z5pixelI5MinOpEvPh": "void pixel<MinOp>(unsigned char *)",
    "_Z6trimulIXadL_Z5naivePfEEEvS0_": "void trimul<&naive>(float *)",
    "_Z6trimulIXadL_Z5tiledPfEEEvS0_": "void trimul<&tiled>(float *)",
    "_Z5fewerIfLi1EEvPT_": "void fewer<float, (int)1>(T1 *)",
    "_Z5fewerIfLi2ELi3EEvPT_": "void fewer<float, (int)2, (int)3>(T1 *)",
}


@pytest.fixture
def demangler(tmp_path, monkeypatch) -> None:
    """A ``cu++filt`` that knows the names above."""
    cases = [f"{name}) echo '{shown}' ;;" for name, shown in INSTANCES.items()]
    tool = stand_in(
        tmp_path / "bin" / "cu++filt",
        'for name in "$@"; do case "$name" in',
        *cases,
        "*) exit 1 ;; esac; done",
    )
    monkeypatch.setenv("PATH", f"{tool.parent}:{os.environ['PATH']}")


@pytest.mark.usefixtures("demangler")
@pytest.mark.parametrize(
    ("kernel", "shown"),
    [
        ("ns::copy<32, float>", "ns::copy<(int)32, float>"),
        ("ns::copy<64, float>", "ns::copy<(int)64, float>"),
        ("ns::copy<64, double>", "ns::copy<(int)64, double>"),
        ("copy< 0x20,float >", "ns::copy<(int)32, float>"),
        ("ns::copy<64u, double>", "ns::copy<(int)64, double>"),
        ("ns::copy<TILE, double>", "ns::copy<(int)64, double>"),
        ("flag<false>", "flag<(bool)0>"),
        ("flag<1>", "flag<(bool)1>"),
        ("cast<half>", "cast<__half>"),
        ("cast<uint32_t>", "cast<unsigned int>"),
        ("cast<int64_t>", "cast<long>"),
        ("shift<-1>", "shift<(int)-1>"),
        ("shift<1>", "shift<(int)1>"),
        ("boxed<double>", "boxed<double>"),
        ("trimul<tiled>", "trimul<&tiled>"),
        ("pixel<MinOp>", "pixel<MinOp>"),
        ("pixel< MaxOp >", "pixel<MaxOp>"),
        ("fewer<float, 1>", "fewer<float, (int)1>"),
        ("fewer<float, 2>", "fewer<float, (int)2, (int)3>"),
    ],
)
def test_one_instance_of_several(kernel, shown) -> None:
    found = find_entry(tuple(INSTANCES), kernel, "k.cu")
    assert INSTANCES[found].startswith(f"void {shown}(")


@pytest.mark.usefixtures("demangler")
@pytest.mark.parametrize("kernel", ["ns::copy<TILE, float>", "cast<My>"])
def test_an_instance_that_nobody_can_tell(kernel) -> None:
    with pytest.raises(CompileError, match="more than one") as caught:
        find_entry(tuple(INSTANCES), kernel, "k.cu")
    assert "template arguments" in (caught.value.hint or "")


@pytest.mark.usefixtures("no_nvcc")
def test_without_a_demangler_one_instance_is_found_and_of_several_none() -> None:
    names = ("_Z4flagILb0EEvPf", "_Z4castIjEvPT_", "_Z4castIlEvPT_")
    assert find_entry(names, "flag<false>", "k.cu") == names[0]
    with pytest.raises(CompileError) as caught:
        find_entry(names, "cast<long>", "k.cu")
    assert ", ".join(names[1:]) in caught.value.what
    assert "cu++filt of the CUDA toolkit" in (caught.value.hint or "")


@pytest.mark.parametrize("lines", [("exit 1",), ("echo one line",)])
def test_a_demangler_that_does_not_answer_decides_nothing(tmp_path, monkeypatch, lines) -> None:
    tool = stand_in(tmp_path / "bin" / "cu++filt", *lines)
    monkeypatch.setenv("PATH", str(tool.parent))
    with pytest.raises(CompileError, match="more than one"):
        find_entry(("_Z4castIjEvPT_", "_Z4castIlEvPT_"), "cast<long>", "k.cu")


@pytest.mark.usefixtures("demangler")
def test_a_second_instance_in_the_file(copy_cu, nvcc) -> None:
    again = "template __global__ void ns::copy<32, float>(const float*, float*, int);\n"
    copy_cu.write_text(TEMPLATE + again)
    built = build_kernel(load_spec(copy_cu), copy_cu, "sm_90", nvcc)
    assert built.entry == "_ZN2ns4copyILi64EfEEvPKT0_PS1_i"
    assert len(list_kernels(built.cubin)) == 3


@pytest.mark.parametrize(
    "flag", few(["-Isub", "-I sub", "--include-path=sub"], "-I sub", why="compiles again")
)
def test_includes_are_beside_the_source(copy_cu, nvcc, flag) -> None:
    (copy_cu.parent / "sub").mkdir()
    (copy_cu.parent / "sub" / "factor.cuh").write_text("#define MORE 1\n")
    copy_cu.write_text('#include "factor.cuh"\n' + TEMPLATE.replace("FACTOR", "FACTOR * MORE"))
    (copy_cu.parent / "copy.toml").write_text(
        TOML.replace("compile = { ", f'compile = {{ flags = ["{flag}"], ')
    )
    built = build_kernel(load_spec(copy_cu), copy_cu, "sm_90", nvcc)
    assert built.options == ("-lineinfo", "-DFACTOR=1", flag)


def test_a_missing_header_is_told_with_its_place(copy_cu) -> None:
    said = f"{copy_cu}:18:10: fatal error: nothere.cuh: No such file or directory\n"
    assert compile_failure(copy_cu, said, kernel="copy").where == f"{copy_cu}:18"


def test_template_arguments_that_do_not_fit(copy_cu) -> None:
    output = "kernel of the launch specification(1): error: no instance of function template"
    error = compile_failure(copy_cu, output, kernel="ns::copy<1>")
    assert "ns::copy<1>" in (error.hint or "")


FOLDER = Path(__file__).parent / "ptxas"
ENTRIES = (
    *("right", "changes_accumulators", "reads_accumulators"),
    *("calls", "changes_registers", "spills"),
)
# Of a function that kernels call, and of none: these may be of any kernel.
ANYBODYS = {"nvcc-13.0.88": ["C7508", "C7519", "C7517"], "nvcc-13.5.37": ["C7508", "C7517"]}


@pytest.fixture(params=list(ANYBODYS))
def said(request) -> tuple[str, list[str]]:
    return (FOLDER / f"{request.param}.txt").read_text(), ANYBODYS[request.param]


@pytest.mark.parametrize(
    ("entry", "code", "words"),
    [
        ("spills", "C7511", "serialized due to insufficient register resources"),
        ("calls", "C7510", "serialized due to wgmma pipeline crossing function boundary"),
        (
            "reads_accumulators",
            "C7514",
            "reading accumulator registers of a wgmma between start and end of the pipeline stage",
        ),
        ("changes_accumulators", "C7517", "to allow use of registers defined by GMMA"),
    ],
)
def test_a_kernel_has_its_own_warnings(said, entry, code, words) -> None:
    text, anybodys = said
    found = parse_warnings(text, entry, ENTRIES)
    (own,) = [each for each in found if each.function == entry]
    assert own.code == code
    assert words in own.text
    assert sorted(each.code for each in found if each is not own) == sorted(anybodys)


def test_a_right_kernel_has_only_those_that_nobody_can_place(said) -> None:
    text, anybodys = said
    found = parse_warnings(text, "right", ENTRIES)
    assert [each.code for each in found] == anybodys
    assert {each.function for each in found} == {None, "_Z7productRA32_fmm"}
    assert found[0] == CompilerWarning(
        "C7508",
        "Potential Performance Loss: 'setmaxnreg' ignored; unable to determine register count at "
        "entry.",
    )


def test_what_is_said_twice_is_one_warning(said) -> None:
    text, _ = said
    assert parse_warnings(text + text, "calls", ENTRIES) == parse_warnings(text, "calls", ENTRIES)


def test_what_is_spilled_is_that_of_the_kernel(said) -> None:
    text, _ = said
    found = parse_spills(text, "spills")
    assert min(found) > 100
    assert parse_spills(text, "right") == Spills(0, 0)
    assert parse_spills(text, "spill") is None
    assert parse_spills("", "right") is None


def test_the_compiler_that_is_here_says_it_in_these_words(tmp_path) -> None:
    if shutil.which("nvcc") is None:
        pytest.skip("there is no nvcc here")
    source = (FOLDER / "warnings.cu").read_text()
    with scratch() as folder:
        done = Workshop(folder).cubin(source, ["-lineinfo"], "sm_90a", tmp_path)
    names = list_kernels(done.cubin)
    assert set(names) == set(ENTRIES)
    found = {each.code for name in ENTRIES for each in parse_warnings(done.messages, name, names)}
    assert found >= {"C7508", "C7510", "C7511", "C7514", "C7517"}
    assert parse_spills(done.messages, "right") == Spills(0, 0)


def test_a_kernel_that_is_kept_is_found_again(tmp_path) -> None:
    file = tmp_path / "kernel.cubin"
    built = Built(
        cubin=b"\x7fELF\n\n\0",
        entry="k",
        options=("-lineinfo", "-O3"),
        arch="sm_90a",
        warnings=(CompilerWarning("C7508", "ignored"), CompilerWarning("C7510", "slow", "k")),
        spills=Spills(4, 8),
    )
    assert read_built(file, "a") is None
    for each in (built, replace(built, warnings=(), spills=None)):
        write_built(file, "a", each)
        assert read_built(file, "a") == each
        assert read_built(file, "b") is None
    file.write_bytes(b"k a\n\x7fELF")
    assert read_built(file, "a") is None


def _errors(*texts: str) -> str:
    """As NVRTC gives what ``ptxas`` refuses."""
    lines = [
        f"ptxas application ptx input, line {number}; error   : {text}"
        for number, text in enumerate(texts, 64)
    ]
    return "\n".join([*lines, "ptxas fatal   : Ptx assembly aborted due to errors"])


CLUSTERS = "Feature '.cluster scope' requires .target sm_90 or higher"
WGMMA = "Instruction 'wgmma.fence' not supported on .target 'sm_80'"


def test_of_many_errors_the_first_are_shown_each_once() -> None:
    many = [CLUSTERS, CLUSTERS, *(f"Instruction 'i{n}' is unknown" for n in range(20))]
    lines = shorten_errors(_errors(*many)).splitlines()
    assert len(lines) == 7
    assert lines[0].endswith(f"line 64; error   : {CLUSTERS}")
    assert lines[4].endswith("'i3' is unknown")
    assert lines[5].startswith("ptxas fatal")
    assert lines[6] == "and 17 more errors from ptxas"


def test_a_few_errors_and_what_else_compilers_say_stay_as_they_are() -> None:
    for text in (_errors(CLUSTERS, WGMMA), 'k.cu(3): error: expected a ";"\n  x\n  ^'):
        assert shorten_errors(text) == text


@pytest.mark.parametrize(
    ("errors", "arch"),
    [
        ([CLUSTERS, "Modifier '.x' requires .target sm_80 or higher"], "sm_90"),
        ([CLUSTERS, WGMMA], "sm_90a"),
        (["Instruction 'tcgen05.alloc' not supported on .target 'sm_90a'"], "sm_100a"),
        (["Instruction 'wrong' is unknown"], None),
    ],
)
def test_what_the_code_needs_follows_from_the_errors(errors: list[str], arch: str | None) -> None:
    assert required_architecture(_errors(*errors)) == arch
