"""Blocks of one wave: how often those that run at the same time copy the same sectors in bulk.

A few iterations of all of them, one beside the other, show it: blocks that copy do so in step.
"""

from __future__ import annotations

import math
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import numpy as np

from sassim.counters.transactions import SECTOR
from sassim.interpreter.context import Observer
from sassim.interpreter.interpreter import Interpreter
from sassim.interpreter.lanes import distinct
from sassim.interpreter.operations.address_spaces import block_rows

if TYPE_CHECKING:
    from sassim.interpreter.context import BulkCopy
    from sassim.interpreter.lanes import Array
    from sassim.interpreter.launch import KernelLaunch
    from sassim.interpreter.slices import BackwardSlice

_LOOKS: Final = 4
"""Times that some basic blocks are run: enough for some iterations of each loop."""
_MOST_LANES: Final = 1 << 18
_BLOCK_SHIFT: Final = 44
"""Where the number of a block stands above that of a sector."""


class _EnoughError(Exception):
    """The wave was run long enough."""


class Wave(Observer):
    """Sectors that the blocks of a wave copy to shared memory."""

    def __init__(self) -> None:
        super().__init__()
        self._sectors: list[Array] = []
        """The first sector of each load."""
        self._of_blocks: list[Array] = []
        """Of loads to one block: the block, and the first sector."""

    def on_bulk_copy(self, copy: BulkCopy) -> None:
        """Note the sectors of a load."""
        if copy.kind == "load":
            active = (copy.sizes > 0) & copy.warps.reshape(-1, 1)
            first = np.broadcast_to(copy.global_addresses, active.shape) // SECTOR
            self._sectors.append(first[active])
            to_one = active if copy.times is None else active & (copy.times == 1).reshape(-1, 1)
            blocks = np.broadcast_to(block_rows(copy.context).reshape(-1, 1), active.shape)
            self._of_blocks.append(blocks[to_one] << _BLOCK_SHIFT | first[to_one])

    @property
    def reuse(self) -> float:
        """How often each stretch of bytes was copied; zero: nothing was."""
        if not self._sectors:
            return 0.0
        every = np.concatenate(self._sectors)
        return len(every) / len(distinct(every))

    @property
    def sharing(self) -> float:
        """How many blocks load a stretch of bytes, on average and without multicast; at least 1."""
        of_blocks = distinct(np.concatenate(self._of_blocks or [np.zeros(0, np.int64)]))
        once = distinct(of_blocks & ((1 << _BLOCK_SHIFT) - 1))
        return len(of_blocks) / len(once) if len(once) else 1.0


def count_wave(launch: KernelLaunch, program_slice: BackwardSlice, blocks: int) -> Wave:
    """Run the beginning of so many blocks of the middle of the grid."""
    every, wave = math.prod(launch.grid), Wave()
    most = max(1, _MOST_LANES // max(1, math.prod(launch.block)))
    size = math.prod(launch.cluster or (1,))
    count = max(size, min(blocks, every, most) // size * size)
    numbers = np.concatenate(list(launch.batches(every)))
    start = (every - count) // 2 // size * size
    interpreter = Interpreter(launch, numbers[start : start + count], wave, program_slice)
    looks = iter(range(_LOOKS))

    def look() -> None:
        if next(looks, None) is None:
            raise _EnoughError

    with suppress(_EnoughError):
        interpreter.run(look)
    return wave
