"""Kernels of a cubin, launched with NumPy arrays: results, faults, and counters."""

from __future__ import annotations

import math
import os
import shutil
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from sassim.counters.launch_counters import count_launch
from sassim.disassembler import disassemble
from sassim.errors import ArgumentError, CubinError, DisassemblerError, SassimError
from sassim.faults import FaultError
from sassim.interpreter.context import ObserverGroup
from sassim.interpreter.interpreter import Interpreter
from sassim.interpreter.lanes import LANES
from sassim.interpreter.launch import bind_launch
from sassim.interpreter.memory import GlobalMemory
from sassim.loops.backward_slice import slice_program
from sassim.sanitizer.async_copies import AsyncCopyCheck
from sassim.sanitizer.initcheck import Initcheck
from sassim.sanitizer.racecheck import Racecheck
from sassim.sanitizer.shadow_memory import ShadowMemory
from sassim.sanitizer.synccheck import Synccheck
from sassim.sanitizer.watchdog import Watchdog
from sassim.sass.elf import list_kernels, read_architecture, read_parameters
from sassim.sass.program import load_program

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sassim.counters.launch_counters import LaunchCounters
    from sassim.interpreter.context import Observer
    from sassim.interpreter.lanes import Array
    from sassim.interpreter.launch import KernelLaunch
    from sassim.interpreter.slices import BackwardSlice
    from sassim.sass.elf import ParameterSlot
    from sassim.sass.program import Program

    Extent = int | tuple[int, ...]

_MOST_BLOCKS: Final = 1 << 22
"""Of a grid of which every block is run: hours, and memory for their numbers."""
_LANES_AT_ONCE: Final = 1 << 16
"""Threads that run side by side; more take more memory and no less time."""
_SECONDS: Final = 6.0
"""For counting: a kernel whose blocks are alike takes a tenth of a second."""
_NUMBERS: Final[dict[type, dict[int, str]]] = {
    int: {1: "i1", 2: "i2", 4: "i4", 8: "i8"},
    float: {2: "f2", 4: "f4", 8: "f8"},
    bool: {1: "?"},
}
"""Types of NumPy for numbers of Python, by the bytes of a parameter."""


def load_cubin(
    cubin: bytes | str | os.PathLike[str],
    kernel: str | None = None,
    *,
    nvdisasm: str | os.PathLike[str] | None = None,
) -> Kernel:
    """Read one kernel of a cubin, given as bytes or as a path.

    ``kernel`` is its mangled name, which a cubin with one kernel does not need. ``nvdisasm`` is the
    path of NVIDIA's disassembler; without it the wheel ``nvidia-cuda-nvdisasm``, then ``PATH``, is
    searched. Raises :class:`CubinError` for what is no cubin or has no such kernel, and
    :class:`DisassemblerError` where there is no disassembler.
    """
    data = cubin if isinstance(cubin, bytes) else Path(cubin).read_bytes()
    names = list_kernels(data)
    if kernel is None and len(names) == 1:
        (kernel,) = names
    if kernel not in names:
        problem = "no kernel name is given" if kernel is None else f"there is no kernel {kernel}"
        raise CubinError(f"{problem}; the cubin has {', '.join(names) or 'none'}")
    listing = disassemble(data, Path(nvdisasm) if nvdisasm else find_nvdisasm())
    return Kernel(
        load_program(data, listing, kernel), read_architecture(data), read_parameters(data, kernel)
    )


def find_nvdisasm() -> Path:
    """Return the path of ``nvdisasm``: of NVIDIA's wheel, else on ``PATH``.

    Raises :class:`DisassemblerError` where there is none.
    """
    from importlib import metadata

    try:
        files = metadata.files("nvidia-cuda-nvdisasm") or []
    except metadata.PackageNotFoundError:
        files = []
    installed = [Path(str(each.locate())) for each in files if each.stem == "nvdisasm"]
    # Not in the current folder: a relative entry of the path is wherever we are.
    folders = [each for each in os.get_exec_path() if Path(each).is_absolute()]
    on_path = shutil.which("nvdisasm", path=os.pathsep.join(folders))
    candidates = [each for each in installed if os.access(each, os.X_OK)]
    if not candidates and on_path is None:
        raise DisassemblerError(
            "nvdisasm is not installed here", hint="pip install nvidia-cuda-nvdisasm"
        )
    return candidates[0] if candidates else Path(str(on_path))


@dataclass(frozen=True)
class Kernel:
    """A kernel of a cubin: its code, and the places of its parameters."""

    program: Program
    arch: str
    """What it was compiled for, such as ``sm_90``."""
    parameters: tuple[ParameterSlot, ...]

    def launch(
        self,
        *arguments: Array | np.generic | float,
        grid: Extent,
        block: Extent,
        dynamic_shared_bytes: int = 0,
    ) -> Simulation:
        """Prepare a launch; ``grid`` and ``block`` are numbers, or tuples of up to three.

        An array is passed as a pointer to a copy in global memory. A number of NumPy is passed as
        it is, one of Python in the size of its parameter. Raises :class:`ArgumentError` where
        arguments are not the kernel's parameters.
        """
        if len(arguments) != len(self.parameters):
            raise ArgumentError(
                f"{self.program.entry} has {len(self.parameters)} parameters, but "
                f"{len(arguments)} arguments are given"
            )
        for number, (argument, slot) in enumerate(zip(arguments, self.parameters, strict=True)):
            size = 8 if isinstance(argument, np.ndarray) else len(_encode(argument, slot))
            if size != slot.size:
                raise ArgumentError(
                    f"parameter {number} of {self.program.entry} has {slot.size} bytes, and its "
                    f"argument has {size}"
                )
        return Simulation(self, arguments, _dim3(grid), _dim3(block), dynamic_shared_bytes)


@dataclass(frozen=True)
class Simulation:
    """A kernel with its arguments, which can be run, and counted."""

    kernel: Kernel
    arguments: tuple[Array | np.generic | float, ...]
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    dynamic_shared_bytes: int

    def run(self) -> FaultError | None:
        """Run all blocks, watched by the sanitizer, and write results into the arrays given.

        Returns the first fault of the kernel, at which it stops, or ``None``. Raises
        :class:`sassim.errors.SassimError` for what cannot be simulated.
        """
        launch, arrays = self._bind()
        try:
            run_sanitized(launch)
        except FaultError as fault:
            return fault
        finally:
            for buffer, array in arrays:
                data = buffer.data[: buffer.size]
                np.copyto(array, data.view(array.dtype).reshape(array.shape))
        return None

    @cached_property
    def counters(self) -> LaunchCounters:
        """Counters of the whole grid, from as many of its blocks as tell them; no array changes."""
        launch, _ = self._bind()
        return count_launch(launch, slice_program(launch.program), seconds=_SECONDS)

    def _bind(self) -> tuple[KernelLaunch, list[tuple[Any, Array]]]:
        """Return a launch with memory of its own, and its arrays with what they were made of."""
        memory = GlobalMemory()
        arrays: list[tuple[Any, Array]] = []
        slots = self.kernel.parameters
        parameters = bytearray(max((slot.offset + slot.size for slot in slots), default=0))
        for number, (argument, slot) in enumerate(zip(self.arguments, slots, strict=True)):
            if isinstance(argument, np.ndarray):
                content = np.ascontiguousarray(argument)
                buffer = memory.allocate(f"argument {number}", content.nbytes, content.copy)
                arrays.append((buffer, argument))
                value = buffer.base.to_bytes(8, "little")
            else:
                value = _encode(argument, slot)
            parameters[slot.offset : slot.offset + slot.size] = value
        launch = bind_launch(
            self.kernel.program,
            arch=self.kernel.arch,
            grid=self.grid,
            block=self.block,
            dynamic_shared_bytes=self.dynamic_shared_bytes,
            memory=memory,
            parameters=bytes(parameters),
        )
        return launch, arrays


def run_sanitized(launch: KernelLaunch) -> frozenset[int]:
    """Run all blocks under memcheck, initcheck, racecheck, synccheck and the watchdog.

    Returns the addresses of the basic blocks that ran.
    Raises a :class:`FaultError` for the first fault that is found.
    """
    cells = ShadowMemory(launch)
    races = Racecheck(cells)
    copies = AsyncCopyCheck(cells, races)
    checks = (cells, Initcheck(), copies, races, Synccheck(), Watchdog())
    return run_blocks(launch, ObserverGroup(checks))


def run_blocks(
    launch: KernelLaunch, observer: Observer, backward_slice: BackwardSlice | None = None
) -> frozenset[int]:
    """Run every block of the grid, as many side by side as memory allows.

    With ``backward_slice`` only what it holds is executed. Returns the addresses of the basic
    blocks that ran.
    """
    every = math.prod(launch.grid)
    if every > _MOST_BLOCKS:
        raise SassimError(
            f"the grid has {every:,} blocks, but at most {_MOST_BLOCKS:,} can be run",
            hint="reduce the number of blocks at the check sizes",
        )
    ran: set[int] = set()
    warps = -(-math.prod(launch.block) // LANES)
    for numbers in launch.batches(max(1, _LANES_AT_ONCE // (warps * LANES))):
        interpreter = Interpreter(launch, numbers, observer, backward_slice)
        interpreter.run()
        ran |= interpreter.ran
    return frozenset(ran)


def _encode(argument: np.generic | float, slot: ParameterSlot) -> bytes:
    """Return a number as the bytes of its parameter."""
    if isinstance(argument, np.generic):
        return argument.tobytes()
    kind = _NUMBERS.get(type(argument), {}).get(slot.size)
    if kind is None:
        raise ArgumentError(
            f"{argument!r} cannot be a parameter of {slot.size} bytes: give a NumPy scalar"
        )
    return np.array(argument, kind).tobytes()


def _dim3(extent: Extent) -> tuple[int, int, int]:
    sizes: Sequence[int] = (extent,) if isinstance(extent, int) else extent
    x, y, z = (*sizes, 1, 1, 1)[:3]
    return x, y, z
