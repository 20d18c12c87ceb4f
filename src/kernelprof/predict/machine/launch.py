"""A launch for the machine: arrays in memory, parameters and sizes in constant bank 0."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kernelprof.predict.machine.memory import GlobalMemory
    from kernelprof.predict.sass.program import Program

    Dim3 = tuple[int, int, int]

SHARED_WINDOW: Final = 0x7E00_0000_0000
"""Where shared memory lies among generic addresses."""
LOCAL_WINDOW: Final = 0x7D00_0000_0000
"""Where local memory lies among generic addresses."""


@dataclass(frozen=True)
class _Layout:
    """Where the driver puts what a launch says into constant bank 0, seen in compiled code."""

    block: int
    grid: int
    stack: int
    descriptor: int


_OLD: Final = _Layout(block=0x0, grid=0xC, stack=0x28, descriptor=0x118)
_HOPPER: Final = _Layout(block=0x0, grid=0xC, stack=0x28, descriptor=0x208)
_BLACKWELL: Final = _Layout(block=0x360, grid=0x370, stack=0x37C, descriptor=0x358)


@dataclass(frozen=True)
class Launch:
    """A kernel with its grid, its arguments and its memory."""

    program: Program
    grid: Dim3
    block: Dim3
    dynamic_shared_bytes: int
    memory: GlobalMemory
    constants: Mapping[int, bytes]
    cluster: Dim3 | None = None
    shared_window: int = SHARED_WINDOW

    @property
    def shared_bytes(self) -> int:
        """Of a block, static and dynamic."""
        static = self.program.image.resources.shared_bytes
        return static + self.dynamic_shared_bytes

    @property
    def local_bytes(self) -> int:
        """Of a thread."""
        return self.program.image.resources.stack_bytes


def bound(
    program: Program,
    *,
    arch: str,
    grid: Dim3,
    block: Dim3,
    dynamic_shared_bytes: int,
    memory: GlobalMemory,
    parameters: bytes,
    cluster: Dim3 | None = None,
) -> Launch:
    """A launch with its parameters, packed as the driver takes them."""
    version = int(arch.removeprefix("sm_").rstrip("af"))
    layout = _BLACKWELL if version >= 100 else _HOPPER if version >= 90 else _OLD
    image = program.image
    bank = bytearray(max(0x400, image.parameters_at + len(parameters)))
    struct.pack_into("<3I", bank, layout.block, *block)
    struct.pack_into("<3I", bank, layout.grid, *grid)
    struct.pack_into("<I", bank, layout.stack, image.resources.stack_bytes)
    struct.pack_into("<Q", bank, 0x18, SHARED_WINDOW)
    struct.pack_into("<Q", bank, 0x20, LOCAL_WINDOW)
    bank[image.parameters_at : image.parameters_at + len(parameters)] = parameters
    constants = {number: bytearray(data) for number, data in image.constants.items()}
    places = {}
    for variable in image.variables:
        initial = variable.initial
        content = None if initial is None else partial(np.frombuffer, initial, np.uint8)
        places[variable.name] = memory.allocate(variable.name, variable.size, content).base
    for number, offset, name, addend in image.addresses:
        if name in places:
            struct.pack_into("<Q", constants[number], offset, places[name] + addend)
    return Launch(
        program=program,
        grid=grid,
        block=block,
        dynamic_shared_bytes=dynamic_shared_bytes,
        memory=memory,
        constants={0: bytes(bank), **{n: bytes(data) for n, data in constants.items()}},
        cluster=cluster,
    )
