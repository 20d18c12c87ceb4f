"""Every kernel of the ladders and the corpus, beside what the driver said of ``nvcc``'s code."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.support.captures import PAIRS, RECORDED
from tests.support.few import part_of

from kernelprof.launch.build.compilation import Built, build_kernel
from kernelprof.launch.specification.reader import load_spec
from kernelprof.prediction.compiler import DeviceCompiler
from kernelprof.sources import read_capture
from sassim.sass.elf import list_kernels

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernelprof.launch.build.compilation import CompiledCubin
    from kernelprof.prediction.toolchain import Toolchain

ROOT = Path(__file__).parents[2]
KERNELS = ROOT / "cuda"
FILES = sorted(each for each in KERNELS.rglob("*.cu") if each.parent.name != "factors")
PARTS = 8

UNLIKE = (
    "ladder/01_naive.cu",
    "ladder/11_bank_conflict_free.cu",
    "pairs/chacha-nonce-search/before.cu",
    "pairs/classifier-features-reloaded/after.cu",
    "pairs/decode-step-fp8-weights/before.cu",
    "pairs/nearest-point-capped-registers/before.cu",
    "pairs/predator-prey-double-literals/after.cu",
)
"""Shared memory, INFINITY, float8 with NVIDIA's header, spills, lambdas."""

UNLIKE_MEASURED = (
    "ladder/bf16/10_cluster_multicast.cu",
    "pairs/heat-plate-compiled-for-debugging/before.cu",
)
"""TMA and clusters, with a header beside the source, and -G: other registers than ``nvcc``'s."""

USED = r"Function properties for {}\n.*\n.*Used (\d+) registers.*?(?:, (\d+) bytes smem)?(?:,|\n)"


def recorded(source: Path) -> Path:
    """The capture of a source on the H200."""
    name = source.relative_to(KERNELS)
    if name.parts[0] == "pairs":
        return PAIRS / name.parts[1] / source.stem
    ladder = "h200" if len(name.parts) == 2 else f"h200-{name.parts[1]}"
    return RECORDED / ladder / source.stem


def compiled(source: Path, toolchain: Toolchain) -> tuple[Built, str]:
    """A kernel as its specification has it compiled, and what the compiler said."""
    spec = load_spec(source)
    compiler = DeviceCompiler(toolchain, spec.kernel)
    said: list[str] = []

    def keep(text: str, options: Sequence[str], arch: str, home: Path) -> CompiledCubin:
        done = compiler.cubin(text, options, arch, home)
        said.append(done.messages)
        return done

    return build_kernel(spec, source, "sm_90", keep, compiler.printable_path(source)), said[0]


def registers(built: Built, said: str) -> int:
    """What ``ptxas`` says of the kernel; the driver gives a thread 16 at least."""
    found = re.search(USED.format(re.escape(built.entry)), said)
    assert found
    return max(16, int(found[1]))


def measured(source: Path, metric: str) -> float | None:
    """What the driver said of the kernel that ``nvcc`` 13.0 compiled."""
    folder = recorded(source)
    column = read_capture(folder).columns.get(metric) if folder.is_dir() else None
    return None if column is None else float(column.values[0])


@pytest.mark.parametrize("name", UNLIKE)
def test_a_kernel_takes_the_registers_that_were_measured(toolchain, name) -> None:
    source = KERNELS / name
    built, said = compiled(source, toolchain)
    assert built.entry in list_kernels(built.cubin)
    assert built.arch == "sm_90a"
    wanted = measured(source, "launch__registers_per_thread")
    assert wanted is not None
    assert registers(built, said) == wanted


@pytest.mark.parametrize("name", UNLIKE_MEASURED)
def test_what_nvcc_places_otherwise_compiles_as_well(toolchain, name) -> None:
    built, said = compiled(KERNELS / name, toolchain)
    assert built.entry in list_kernels(built.cubin)
    assert registers(built, said) > 16


@pytest.mark.parametrize("part", part_of(8, range(PARTS), why="compiles every kernel"))
def test_every_kernel_compiles_and_nearly_all_take_what_was_measured(toolchain, part) -> None:
    beside = []
    for source in FILES[part::PARTS]:
        built, said = compiled(source, toolchain)
        assert built.entry in list_kernels(built.cubin)
        wanted = measured(source, "launch__registers_per_thread")
        if wanted is not None:
            beside.append((source, registers(built, said), wanted))
    differing = [(str(each), found, wanted) for each, found, wanted in beside if found != wanted]
    assert len(beside) > 20
    assert len(differing) <= 0.1 * len(beside), differing
