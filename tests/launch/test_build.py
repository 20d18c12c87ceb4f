"""Building, as far as it goes without a GPU: with ``nvcc`` where there is one."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from kernelprof.errors import InputError
from kernelprof.launch.build import (
    CompileError,
    build,
    compile_failure,
    entries,
    find_entry,
    prepared,
)
from kernelprof.launch.read_spec import load_spec

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
    """A compiler that works as PyCUDA's does: in a file of its own, to a cubin."""
    if shutil.which("nvcc") is None:
        pytest.skip("there is no nvcc here")

    def compiler(source, options, arch, folder) -> bytes:
        file, cubin = tmp_path / "elsewhere.cu", tmp_path / "elsewhere.cubin"
        file.write_text(source)
        command = ["nvcc", "--cubin", f"-arch={arch}", f"-I{folder}", *options]
        done = subprocess.run(
            [*command, str(file), "-o", str(cubin)], capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise CompileError(done.stderr + done.stdout)
        return cubin.read_bytes()

    return compiler


def test_a_template_is_instantiated_and_found(copy_cu, nvcc) -> None:
    built = build(load_spec(copy_cu), copy_cu, "sm_90", nvcc)
    assert built.entry == "_ZN2ns4copyILi64EfEEvPKT0_PS1_i"
    assert built.options == ("-lineinfo", "-DFACTOR=1")
    assert set(entries(built.cubin)) == {built.entry, "_Z5otherPi"}
    assert str(copy_cu).encode() in built.cubin or b"copy.cu" in built.cubin


def test_a_compile_error_names_the_users_line(copy_cu, nvcc) -> None:
    (copy_cu.parent / "copy.toml").write_text(TOML.replace("FACTOR = 1", "OTHER = 1"))
    with pytest.raises(CompileError) as caught:
        build(load_spec(copy_cu), copy_cu, "sm_90", nvcc)
    error = compile_failure(copy_cu, caught.value.what, kernel="ns::copy<64, float>")
    assert 'identifier "FACTOR" is undefined' in error.what
    assert error.where == f"{copy_cu}:5"
    assert error.hint == "declare FACTOR, or add it to [compile] defines"


def test_arguments_are_looked_at_before_it_is_compiled(copy_cu) -> None:
    lines = [line for line in TOML.splitlines() if 'name = "n"' not in line]
    (copy_cu.parent / "copy.toml").write_text("\n".join(lines))

    def never(*_arguments) -> bytes:
        raise AssertionError

    with pytest.raises(InputError, match="3 parameters"):
        build(load_spec(copy_cu), copy_cu, "sm_90", never)


def test_what_is_compiled_has_the_users_name(tmp_path) -> None:
    path = tmp_path / 'a "b".cu'
    first, second = prepared("\ufeffint x;", path, "k").split("\n")
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
    with pytest.raises(CompileError, match="cubin"):
        entries(cubin)


def test_template_arguments_that_do_not_fit(copy_cu) -> None:
    output = "kernel of the launch specification(1): error: no instance of function template"
    error = compile_failure(copy_cu, output, kernel="ns::copy<1>")
    assert "ns::copy<1>" in (error.hint or "")
