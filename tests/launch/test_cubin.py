"""Parameters in a cubin: where the compiler puts them, and that a launch has each in its place."""

from __future__ import annotations

import shutil

import pytest

from kernelprof.launch.build.compilation import CompileError, code_digest, pack_parameters
from kernelprof.launch.build.nvcc import Workshop, scratch
from sassim.sass.elf import ParameterSlot, read_parameters

KERNEL = """\
#include <cuda.h>
extern "C" __global__ void k(int n, const __grid_constant__ CUtensorMap map, char c, double* x) {
    x[0] = n + c + static_cast<double>(reinterpret_cast<size_t>(&map));
}
extern "C" __global__ void first(const __grid_constant__ CUtensorMap map, double* x) {
    x[0] = static_cast<double>(reinterpret_cast<size_t>(&map));
}
extern "C" __global__ void nothing() {}
"""


@pytest.fixture(scope="module")
def compiled():
    """Compiles the kernels above for an architecture."""
    if shutil.which("nvcc") is None:
        pytest.skip("there is no nvcc here")

    def compile_for(arch: str, tmp_path) -> bytes:
        with scratch() as folder:
            return Workshop(folder).cubin(KERNEL, [], arch, tmp_path).cubin

    return compile_for


# By cuobjdump -elf of nvcc 13.0.88: on sm_90 parameters begin at 0x210 of the constant bank, and
# 0x280 is the first multiple of 128 after that; on sm_100 they begin at 0x380.
@pytest.mark.parametrize(
    ("arch", "gap", "char"),
    [
        ("sm_90", 0x70, 0xF0),
        pytest.param("sm_90a", 0x70, 0xF0, marks=pytest.mark.slow("again")),
        ("sm_100a", 0, 0x100),
    ],
)
def test_a_tensor_map_lies_where_the_compiler_put_it(compiled, tmp_path, arch, gap, char) -> None:
    cubin = compiled(arch, tmp_path)
    map_at = gap or 0x80
    wanted = (
        ParameterSlot(0, 4),
        ParameterSlot(map_at, 128),
        ParameterSlot(char, 1),
        ParameterSlot(char + 8, 8),
    )
    assert read_parameters(cubin, "k") == wanted
    assert read_parameters(cubin, "first") == (ParameterSlot(gap, 128), ParameterSlot(gap + 128, 8))
    assert read_parameters(cubin, "nothing") == ()


def test_each_value_has_its_place_and_nothing_else_is_written() -> None:
    slots = (
        ParameterSlot(0, 4),
        ParameterSlot(112, 128),
        ParameterSlot(240, 1),
        ParameterSlot(248, 8),
    )
    values = [b"\x01" * 4, b"\x02" * 128, b"\x03", b"\x04" * 8]
    buffer = pack_parameters(values, slots)
    assert len(buffer) == 256
    for value, slot in zip(values, slots, strict=True):
        assert buffer[slot.offset : slot.offset + slot.size] == value
    assert buffer.count(0) == 256 - 4 - 128 - 1 - 8
    assert pack_parameters([], ()) == b""


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([b"\0" * 8], "8, 4 bytes, but the arguments have 8"),
        ([b"\0" * 8, b"\0" * 2], "8, 4 bytes, but the arguments have 8, 2"),
        ([], "8, 4 bytes, but the arguments have no"),
    ],
)
def test_values_that_are_not_those_of_the_kernel_are_refused(values, said) -> None:
    with pytest.raises(CompileError, match=said) as caught:
        pack_parameters(values, (ParameterSlot(0, 8), ParameterSlot(8, 4)))
    assert "passed = false" in (caught.value.hint or "")


@pytest.mark.slow("a kernel is compiled many times")
def test_the_digest_is_of_what_the_code_does(tmp_path) -> None:
    if shutil.which("nvcc") is None:
        pytest.skip("there is no nvcc here")

    def digest(source: str) -> str:
        with scratch() as folder:
            cubin = Workshop(folder).cubin(source, ["-lineinfo"], "sm_90a", tmp_path).cubin
        return code_digest(cubin)

    found = digest(KERNEL)
    assert digest(f"// A comment\n\n{KERNEL}") == found
    assert digest(KERNEL.replace("n + c", "n - c")) != found
    more = KERNEL.replace("x[0] = n", "__shared__ int s[8]; s[n] = 1; x[0] = s[c] + n")
    assert digest(more) != digest(more.replace("s[8]", "s[64]"))
