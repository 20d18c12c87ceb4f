"""Sectors that the warps of a few blocks asked L1 for, one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from sassim.interpreter.context import ExecutionContext
    from sassim.interpreter.lanes import Array
    from sassim.sass.listing import Instruction

MOST: Final = 1 << 20
"""Sectors after which no more are recorded: what follows repeats what was before."""


class Stream:
    """Sectors in the order of the accesses, each with the instruction that it was for."""

    def __init__(self, rows: Array, warps: int, warps_of_block: int) -> None:
        self._rows = rows
        self._warps_of_block = warps_of_block
        self._row_of_warp = np.full(warps, -1)
        self._row_of_warp[rows] = np.arange(len(rows))
        self._parts: list[Array] = []
        self._blocks: list[Array] = []
        self._lengths: list[tuple[int, int]] = []
        self.length = 0

    def add(
        self, c: ExecutionContext, i: Instruction, addresses: Array, active: Array | None
    ) -> None:
        """An access of some warps to global memory."""
        if self.length >= MOST:
            return
        chosen = self._rows
        if c.rows is not None:
            chosen = np.flatnonzero(self._row_of_warp[c.rows] >= 0)
        if len(chosen) == 0:
            return
        sectors = (addresses[chosen] if addresses.shape[0] > 1 else addresses) >> 5
        lanes = None if active is None else active[chosen]
        if lanes is not None:
            sectors = np.where(lanes, sectors, -1)
        ordered = np.sort(sectors, axis=1)
        new = np.ones(ordered.shape, np.bool_)
        new[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
        new &= ordered >= 0
        distinct, counts = ordered[new], new.sum(axis=1)
        if len(ordered) == 1:
            distinct, counts = np.tile(distinct, len(chosen)), np.tile(counts, len(chosen))
        self._parts.append(distinct)
        warps = chosen if c.rows is None else c.rows[chosen]
        blocks = self._row_of_warp[warps] // self._warps_of_block
        self._blocks.append(np.repeat(blocks, counts))
        self._lengths.append((i.address, len(distinct)))
        self.length += len(distinct)

    @property
    def sectors(self) -> Array:
        """Numbers of sectors."""
        return np.concatenate(self._parts) if self._parts else np.empty(0, np.int64)

    @property
    def blocks(self) -> Array:
        """For each sector which of the recorded blocks asked."""
        return np.concatenate(self._blocks) if self._blocks else np.empty(0, np.int64)

    @property
    def executions(self) -> Array:
        """For each sector which execution of an instruction, by all warps together, asked."""
        counts = [count for _, count in self._lengths]
        return np.repeat(np.arange(len(counts)), counts)

    @property
    def instructions(self) -> Array:
        """For each sector the address of the instruction that asked for it."""
        if not self._lengths:
            return np.empty(0, np.int64)
        addresses, counts = np.array(self._lengths).T
        return np.repeat(addresses, counts)

    def mark(self) -> tuple[int, int]:
        """A place to come back to."""
        return len(self._parts), self.length

    def shorten(self, mark: tuple[int, int]) -> None:
        """Forget what was added since."""
        parts, self.length = mark
        del self._parts[parts:], self._blocks[parts:], self._lengths[parts:]
