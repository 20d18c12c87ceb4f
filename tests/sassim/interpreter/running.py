"""Runs kernels of ``code/`` on the machine; their cubins and listings stand beside them."""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from tests.support.few import few

from sassim.interpreter.interpreter import Interpreter
from sassim.sanitizer.watchdog import Watchdog
from sassim.sass.elf import read_parameters
from sassim.sass.program import load_program
from sassim.simulator import Kernel

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from sassim.interpreter.context import Observer
    from sassim.sass.program import Program

    Array = npt.NDArray[Any]
    Dim3 = tuple[int, int, int]

FOLDER = Path(__file__).parent / "code"


@dataclass(frozen=True)
class Code:
    """A source compiled for an architecture."""

    cubin: bytes
    listing: str
    arch: str

    def program(self, entry: str) -> Program:
        """One of its kernels."""
        return load_program(self.cubin, self.listing, entry)

    def run(
        self,
        entry: str,
        *arguments: Array | np.generic,
        grid: Dim3 = (1, 1, 1),
        block: Dim3 = (32, 1, 1),
        shared: int = 0,
        counters: Observer | None = None,
    ) -> list[Array]:
        """Run a kernel; arrays are copied into global memory, and given back as they are then."""
        kernel = Kernel(self.program(entry), self.arch, read_parameters(self.cubin, entry))
        simulation = kernel.launch(*arguments, grid=grid, block=block, dynamic_shared_bytes=shared)
        launch, arrays = simulation._bind()
        for numbers in launch.batches(64):
            Interpreter(launch, numbers, counters or Watchdog()).run()
        return [
            buffer.data[: buffer.size].view(array.dtype).reshape(array.shape)
            for buffer, array in arrays
        ]


@cache
def code(name: str, arch: str) -> Code:
    """What ``code/NAME.cu`` compiles to for an architecture."""
    stem = FOLDER / f"{name}.{arch}"
    cubin, listing = (
        gzip.decompress(stem.with_suffix(f".{arch}.{kind}.gz").read_bytes())
        for kind in ("cubin", "sass")
    )
    return Code(cubin, listing.decode(), arch)


def architectures(name: str, least: int = 0) -> list[str]:
    """Those that ``code/NAME.cu`` is kept for, from a compute capability on (80 for 8.0)."""
    found = {file.name.split(".")[1] for file in FOLDER.glob(f"{name}.sm_*")}
    return sorted(
        (each for each in found if int(each[3:]) >= least), key=lambda each: int(each[3:])
    )


def each_architecture(name: str, least: int = 0) -> list[Any]:
    """The same as parameters, of which ``make test`` tries one."""
    found = architectures(name, least)
    tried = "sm_90" if "sm_90" in found else found[0]
    return few(found, tried, why="the same of another architecture")


def words(*values: Sequence[int]) -> Array:
    """Whole numbers of 32 bits."""
    return np.array(values, np.int64).astype(np.uint32)
