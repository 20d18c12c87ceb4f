"""Where the driver puts what a launch says into constant bank 0.

NVIDIA documents none of it. It was read off code that ``nvcc`` 13.0 makes of sources that ask for
one thing each (``blockDim``, ``%clusterid``, ``%dynamic_smem_size``, ``isspacep``) for compute
capability 7.5 to 12.0. What only a driver or a GPU knows (the number of SMs, the grid's number, the
workspace of ``this_grid().sync()``) is not there, and code that asks for it is told so.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    Dim3 = tuple[int, int, int]

_BANK_BYTES: Final = 0x400
PARAMETER_WINDOW: Final = 0x7C00_0000_0000
"""Where constant bank 0 lies among generic addresses."""


@dataclass(frozen=True)
class ClusterLayout:
    """Offsets of what a launch in clusters says, x, y and z beside each other."""

    explicit: int
    """1 where the launch is in clusters."""
    size: int
    """Blocks of a cluster."""
    reciprocals: int
    """One divided by them, in floating point, so that a product can be cut to a quotient."""
    grid: int
    """Clusters of the grid."""
    blocks: int
    """Blocks of a cluster in all."""


@dataclass(frozen=True)
class ConstantBankLayout:
    """Offsets in constant bank 0."""

    block: int
    """Threads of a block along x, y and z."""
    grid: int
    """Blocks along x, y and z."""
    stack: int
    """Where a thread's stack in local memory ends."""
    dynamic_shared: int
    """Bytes of dynamic shared memory."""
    descriptor: int
    """How global memory is accessed: 64 bits that code passes on."""
    local_window: int
    """Where local memory lies among generic addresses: 64 bits."""
    parameters_end: int
    """A bound of the addresses of parameters, that ``isspacep.global`` compares with: 64 bits."""
    shared_window: int | None = None
    """Where shared memory lies among generic addresses: 64 bits."""
    reserved_shared: int = 0
    """Bytes at the beginning of shared memory that the system keeps to itself (CUDA C++
    Programming Guide, "Shared Memory": 1 KB a block)."""
    cluster: ClusterLayout | None = None
    parameters: tuple[int, int] | None = None
    """Where the generic address of this bank's own bytes from the second offset on is: code that
    passes on the address of a parameter (``__grid_constant__``) adds to it. 64 bits."""

    def bank(
        self,
        *,
        grid: Dim3,
        block: Dim3,
        cluster: Dim3 | None,
        dynamic_shared_bytes: int,
        stack_bytes: int,
        windows: tuple[int, int],
    ) -> tuple[bytearray, set[int]]:
        """The bank without parameters, and the offsets of its words that are not known.

        ``windows`` are the generic addresses of shared and of local memory.
        """
        values: dict[int, bytes] = {
            self.block: struct.pack("<3I", *block),
            self.grid: struct.pack("<3I", *grid),
            self.stack: struct.pack("<I", stack_bytes),
            self.dynamic_shared: struct.pack("<I", dynamic_shared_bytes),
            self.descriptor: bytes(8),
            self.local_window: struct.pack("<Q", windows[1]),
            self.parameters_end: bytes(8),
        }
        if self.shared_window is not None:
            values[self.shared_window] = struct.pack("<Q", windows[0])
        if self.parameters is not None:
            at, offset = self.parameters
            values[at] = struct.pack("<Q", PARAMETER_WINDOW + offset)
        if self.cluster is not None:
            values |= _cluster_values(self.cluster, grid, cluster)
        return _pack_values(values.items())


def _cluster_values(layout: ClusterLayout, grid: Dim3, cluster: Dim3 | None) -> dict[int, bytes]:
    x, y, z = size = cluster or (1, 1, 1)
    clusters = (-(-blocks // each) for blocks, each in zip(grid, size, strict=True))
    return {
        layout.explicit: struct.pack("<I", cluster is not None),
        layout.size: struct.pack("<3I", *size),
        layout.reciprocals: np.array(
            [_divide_rounding_up(each) for each in size], np.float32
        ).tobytes(),
        layout.grid: struct.pack("<3I", *clusters),
        layout.blocks: struct.pack("<I", x * y * z),
    }


def _divide_rounding_up(size: int) -> np.float32:
    """One divided by a size, rounded up."""
    near = np.float32(1) / np.float32(size)
    return near if float(near) * size >= 1 else np.nextafter(near, np.float32(1))


def _pack_values(values: Iterable[tuple[int, bytes]]) -> tuple[bytearray, set[int]]:
    bank = bytearray(_BANK_BYTES)
    unknown = set(range(0, _BANK_BYTES, 4))
    for offset, data in values:
        bank[offset : offset + len(data)] = data
        unknown -= set(range(offset, offset + len(data), 4))
    return bank, unknown


_OLD: Final = ConstantBankLayout(
    block=0x0,
    grid=0xC,
    stack=0x28,
    dynamic_shared=0x2C,
    descriptor=0x118,
    local_window=0x20,
    parameters_end=0x50,
    shared_window=0x18,
)
_HOPPER: Final = ConstantBankLayout(
    block=0x0,
    grid=0xC,
    stack=0x28,
    dynamic_shared=0x2C,
    descriptor=0x208,
    local_window=0x20,
    parameters_end=0xD0,
    reserved_shared=0x400,
    cluster=ClusterLayout(explicit=0x140, size=0x144, reciprocals=0x150, grid=0x15C, blocks=0x188),
    parameters=(0x198, 0x210),
)
_BLACKWELL: Final = ConstantBankLayout(
    block=0x360,
    grid=0x370,
    stack=0x37C,
    dynamic_shared=0x2AC,
    descriptor=0x358,
    local_window=0x2F8,
    parameters_end=0x120,
    reserved_shared=0x400,
    cluster=ClusterLayout(explicit=0x36C, size=0x2A0, reciprocals=0x2B0, grid=0x2C0, blocks=0x2CC),
)


def find_layout(arch: str) -> ConstantBankLayout:
    """The layout for an architecture (``sm_90``, ``sm_100a``)."""
    version = int(arch.removeprefix("sm_").rstrip("af"))
    if version >= 100:
        return _BLACKWELL
    return _HOPPER if version >= 90 else _OLD
