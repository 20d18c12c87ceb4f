"""The interface of sassim alone: kernels of a cubin with arrays, their counters and faults."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import sassim
from sassim.sass.elf import list_kernels, read_architecture

ROOT = Path(__file__).parents[2]
EXAMPLE = Path(__file__).parent / "example"
CUBIN = EXAMPLE / "block_sum.cubin"


@pytest.fixture(scope="module")
def kernel() -> sassim.Kernel:
    return sassim.load_cubin(CUBIN)


def test_the_example_of_the_page_prints_what_the_page_says() -> None:
    text = (ROOT / "docs" / "simulator.md").read_text(encoding="utf-8")
    code, printed = re.findall(r"```(?:python)?\n(.*?)```", text, re.DOTALL)[:2]
    assert len(code.splitlines()) <= 20
    # Where kernelprof cannot be imported.
    hidden = "import sys; sys.modules['kernelprof'] = None\n"
    done = subprocess.run(
        [sys.executable, "-c", hidden + code],
        cwd=EXAMPLE,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == printed


def test_a_kernel_has_its_name_architecture_and_parameters(kernel: sassim.Kernel) -> None:
    assert (kernel.program.entry, kernel.arch) == ("block_sum", "sm_90")
    assert [slot.size for slot in kernel.parameters] == [8, 8, 4]
    assert list_kernels(CUBIN.read_bytes()) == ("block_sum",)


def test_results_are_written_into_the_arrays(kernel: sassim.Kernel) -> None:
    """Blocks of one warp have no race."""
    values = np.arange(8 * 64, dtype=np.float32)
    sums = np.zeros(2, np.float32)
    before = values.copy()
    launch = kernel.launch(values, sums, np.int32(64), grid=2, block=(32, 1))
    assert launch.counters.by_access()
    assert not sums.any()
    fault = launch.run()
    # The kernel adds 256 elements of a tile of which a block of 32 threads writes 32.
    assert isinstance(fault, sassim.FaultError)
    assert fault.tool == "initcheck"
    np.testing.assert_array_equal(values, before)


def test_counters_are_those_of_the_whole_grid(kernel: sassim.Kernel) -> None:
    arrays = np.ones(8 * 4096, np.float32), np.zeros(16, np.float32)
    counters = kernel.launch(*arrays, 4096, grid=16, block=256).counters
    (load,) = [
        each for each in counters.by_access() if each.kind == "load" and each.space == "global"
    ]
    totals = {name: total.value for name, total in load.totals.items()}
    assert (totals["requests"], totals["sectors"], totals["ideal"]) == (128, 4096, 512)
    assert load.totals["sectors"].exact
    assert load.line is not None
    assert load.line.number == 5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((1, 2), "has 3 parameters, but 2 arguments are given"),
        ((np.float64(1), 2, 3, 4), "4 arguments are given"),
        ((np.zeros(1), np.zeros(1), np.int64(4)), "parameter 2 of block_sum has 4 bytes"),
        ((np.zeros(1), np.zeros(1), "4"), "cannot be a parameter of 4 bytes"),
        ((np.zeros(1), np.float32(1), 4), "parameter 1 of block_sum has 8 bytes"),
    ],
)
def test_other_arguments_than_the_parameters_are_refused(
    kernel: sassim.Kernel, arguments: tuple[object, ...], message: str
) -> None:
    with pytest.raises(sassim.ArgumentError, match=message):
        kernel.launch(*arguments, grid=1, block=32)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("cubin", "name", "message"),
    [
        (b"no cubin", None, "not a cubin"),
        (b"\x7fELF\x02\x01" + b"\xff" * 100, None, "damaged"),
        (CUBIN, "other", "there is no kernel other; the cubin has block_sum"),
    ],
)
def test_what_is_no_cubin_or_no_kernel_of_it_is_refused(
    cubin: bytes | Path, name: str | None, message: str
) -> None:
    with pytest.raises(sassim.CubinError, match=message):
        sassim.load_cubin(cubin, name)


def test_a_missing_disassembler_is_an_error_with_its_path() -> None:
    with pytest.raises(sassim.DisassemblerError, match="No such file"):
        sassim.load_cubin(CUBIN, nvdisasm="/no/nvdisasm")


@pytest.mark.parametrize(
    ("abi", "flags", "arch"),
    [(8, 0x9005A04, "sm_90"), (8, 0x9004B04, "sm_75"), (7, 0x50550, "sm_80")],
)
def test_the_architecture_is_in_the_flags_of_the_header(abi: int, flags: int, arch: str) -> None:
    header = bytearray(CUBIN.read_bytes()[:64])
    header[8] = abi
    header[48:52] = flags.to_bytes(4, "little")
    assert read_architecture(bytes(header)) == arch
