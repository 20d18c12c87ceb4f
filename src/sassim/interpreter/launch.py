"""A launch for the machine: arrays in memory, parameters and sizes in constant bank 0."""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np

from sassim.interpreter.driver_constants import PARAMETER_WINDOW, find_layout

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sassim.interpreter.lanes import Array
    from sassim.interpreter.memory import GlobalMemory
    from sassim.interpreter.tensor_maps import EncodedTensorMap
    from sassim.sass.cubin import CubinImage
    from sassim.sass.program import Program

    Dim3 = tuple[int, int, int]

SHARED_WINDOW: Final = 0x7E00_0000_0000
"""Where shared memory lies among generic addresses."""
LOCAL_WINDOW: Final = 0x7D00_0000_0000
"""Where local memory lies among generic addresses."""

_STACK_BYTES: Final = 1024
"""The stack of a thread unless a program asks for more (CUDA Runtime API, cudaLimitStackSize)."""
_SYSTEM_CODE: Final = 1 << 40
"""Where functions of the system, such as ``vprintf``, lie among addresses of code."""
_SYSTEM_BYTES: Final = 16


@dataclass(frozen=True)
class KernelLaunch:
    """A kernel with its grid, its arguments and its memory."""

    program: Program
    grid: Dim3
    block: Dim3
    dynamic_shared_bytes: int
    memory: GlobalMemory
    constants: Mapping[int, bytes]
    cluster: Dim3 | None = None
    shared_window: int = SHARED_WINDOW
    local_window: int = LOCAL_WINDOW
    unknown: frozenset[int] = frozenset()
    """Offsets of words of constant bank 0 that only a driver knows."""
    reserved_shared: int = 0
    """Bytes at the beginning of shared memory that are the system's."""
    system: Mapping[str, int] = field(default_factory=dict)
    """Addresses of functions of the system that the code calls."""
    tensor_maps: Mapping[int, EncodedTensorMap] = field(default_factory=dict)
    """By their generic addresses."""

    @property
    def shared_bytes(self) -> int:
        """Of a block, static and dynamic."""
        static = self.program.image.resources.shared_bytes
        return static + self.dynamic_shared_bytes

    @property
    def local_bytes(self) -> int:
        """Of a thread."""
        stack = self.program.image.resources.stack_bytes
        return max(stack, _STACK_BYTES) if self.program.grows_stack else stack

    def rank_in_cluster(self, numbers: Array) -> Array:
        """The rank in its cluster of each block, by its number in the grid."""
        rank: Array = np.zeros_like(numbers)
        for place, size, step in self._along(numbers):
            rank = rank + place % size * step
        return rank

    def cluster_of(self, numbers: Array) -> Array:
        """The number of the cluster of each block, by its number in the grid."""
        clusters_of_blocks: Array = np.zeros_like(numbers)
        clusters = 1
        for (place, size, _), blocks in zip(self._along(numbers), self.grid, strict=True):
            clusters_of_blocks = clusters_of_blocks + place // size * clusters
            clusters *= -(-blocks // size)
        return clusters_of_blocks

    def batches(self, most: int) -> Iterator[Array]:
        """The numbers of all blocks, about so many at a time, those of a cluster together."""
        numbers = np.arange(math.prod(self.grid))
        if self.cluster is not None:
            numbers = numbers[np.argsort(self.cluster_of(numbers), kind="stable")]
        size = math.prod(self.cluster or (1,))
        step = max(size, most // size * size)
        for start in range(0, len(numbers), step):
            yield numbers[start : start + step]

    def _along(self, numbers: Array) -> list[tuple[Array, int, int]]:
        """Along each axis: places of blocks, blocks of a cluster, and how far ranks are apart."""
        x, y, _ = self.grid
        a, b, c = self.cluster or (1, 1, 1)
        return [(numbers % x, a, 1), (numbers // x % y, b, a), (numbers // (x * y), c, a * b)]


def bind_launch(
    program: Program,
    *,
    arch: str,
    grid: Dim3,
    block: Dim3,
    dynamic_shared_bytes: int,
    memory: GlobalMemory,
    parameters: bytes,
    cluster: Dim3 | None = None,
    tensor_maps: Mapping[int, EncodedTensorMap] | None = None,
) -> KernelLaunch:
    """A launch with its parameters, packed as the driver takes them.

    ``tensor_maps`` are by offsets among the parameters.

    ``cluster`` is said where the code does not say it itself (``__cluster_dims__``).
    """
    image = program.image
    layout = find_layout(arch)
    cluster = cluster or image.cluster
    bank, unknown = layout.bank(
        grid=grid,
        block=block,
        cluster=cluster,
        dynamic_shared_bytes=dynamic_shared_bytes,
        stack_bytes=max(image.resources.stack_bytes, _STACK_BYTES * program.grows_stack),
        windows=(SHARED_WINDOW, LOCAL_WINDOW),
    )
    bank[image.parameters_at : image.parameters_at + len(parameters)] = parameters
    constants = {number: bytearray(data) for number, data in image.constants.items()}
    system = _place_variables(image, constants, memory)
    return KernelLaunch(
        program=program,
        grid=grid,
        block=block,
        dynamic_shared_bytes=dynamic_shared_bytes,
        memory=memory,
        constants={0: bytes(bank), **{n: bytes(data) for n, data in constants.items()}},
        cluster=cluster,
        unknown=frozenset(at for at in unknown if at < image.parameters_at),
        reserved_shared=layout.reserved_shared,
        system=system,
        tensor_maps={
            PARAMETER_WINDOW + image.parameters_at + offset: each
            for offset, each in (tensor_maps or {}).items()
        },
    )


def _place_variables(
    image: CubinImage, constants: Mapping[int, bytearray], memory: GlobalMemory
) -> dict[str, int]:
    """Put global variables into memory, and their addresses and the system's where they are held.

    Gives the addresses of functions of the system.
    """
    places: dict[str, int] = {}
    for variable in image.variables:
        initial = variable.initial
        content = None if initial is None else partial(np.frombuffer, initial, np.uint8)
        places[variable.name] = memory.allocate(variable.name, variable.size, content).base
    system = {name: _SYSTEM_CODE + _SYSTEM_BYTES * n for n, name in enumerate(image.outside)}
    places |= system
    for number, offset, name, addend in image.addresses:
        if name in places:
            struct.pack_into("<Q", constants[number], offset, places[name] + addend)
    for owner, offset, name, addend in image.pointers:
        if name in places:
            at = np.full((1, 1), places[owner] + offset, np.int64)
            value = np.array([[[places[name] + addend]]], np.uint64).view(np.uint32)
            memory.store(at, None, value, 8)
    return system
