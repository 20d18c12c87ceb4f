"""Blocks on the SMs of a GPU: how many at once and in all, and what shared memory leaves to L1."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sassim.gpu import GpuModel


@dataclass(frozen=True, slots=True)
class GridResidency:
    """``blocks`` are those on an SM at once, ``blocks_of_sm`` all that the busiest SM gets."""

    grid: int
    blocks: int
    blocks_of_sm: int
    sms: int
    """SMs that get a block."""
    waves: float
    l1_bytes: int


def compute_residency(
    gpu: GpuModel, *, grid: int, resident: int, block_bytes: int, threads: int
) -> GridResidency:
    """Where the blocks of a grid are: ``resident`` fit on an SM, ``block_bytes`` of it each."""
    of_sm = -(-grid // gpu.sms)
    configured = shared_config(gpu, resident, block_bytes, threads)
    unified = gpu.l1_and_shared_kib
    return GridResidency(
        grid=grid,
        blocks=max(1, min(resident, of_sm)),
        blocks_of_sm=of_sm,
        sms=min(grid, gpu.sms),
        waves=grid / (gpu.sms * max(resident, 1)),
        l1_bytes=max(0, (unified or 0) * 1024 - configured),
    )


def shared_config(gpu: GpuModel, resident: int, block_bytes: int, threads: int) -> int:
    """Bytes of an SM that the driver makes shared memory of, for so many blocks."""
    sizes = [kib * 1024 for kib in gpu.shared_kib_steps]
    required = resident * block_bytes
    tight = threads >= 1024 or resident == 1
    for size in sizes:
        if required <= (size if tight or size > _HALF_UP_TO else size // 2):
            return size
    return sizes[-1] if sizes else math.ceil(required)


_HALF_UP_TO = 100 * 1024
"""The driver takes a size of which blocks fill half at most, up to this (captures of the H200)."""
