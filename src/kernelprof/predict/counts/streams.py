"""Sectors that the warps of a few blocks asked L1 for, one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from kernelprof.predict.machine.arrays import Array
    from kernelprof.predict.machine.context import Context
    from kernelprof.predict.sass.listing import Instruction

MOST: Final = 1 << 20
"""Sectors after which no more are recorded: what follows repeats what was before."""


class Stream:
    """Sectors in the order of the accesses, each with the instruction that it was for."""

    def __init__(self, rows: Array, warps: int) -> None:
        self._rows = rows
        self._place = np.full(warps, -1)
        self._place[rows] = np.arange(len(rows))
        self._parts: list[Array] = []
        self._of: list[tuple[int, int]] = []
        self.length = 0

    def add(self, c: Context, i: Instruction, addresses: Array, taking: Array | None) -> None:
        """An access of some warps to global memory."""
        if self.length >= MOST:
            return
        chosen = self._rows
        if c.rows is not None:
            chosen = np.flatnonzero(self._place[c.rows] >= 0)
        if len(chosen) == 0:
            return
        sectors = (addresses[chosen] if addresses.shape[0] > 1 else addresses) >> 5
        lanes = None if taking is None else taking[chosen]
        if lanes is not None:
            sectors = np.where(lanes, sectors, -1)
        ordered = np.sort(sectors, axis=1)
        new = np.ones(ordered.shape, np.bool_)
        new[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
        found = ordered[new & (ordered >= 0)]
        if addresses.shape[0] == 1:
            found = np.tile(found, len(chosen))
        self._parts.append(found)
        self._of.append((i.address, len(found)))
        self.length += len(found)

    @property
    def sectors(self) -> Array:
        """Numbers of sectors."""
        return np.concatenate(self._parts) if self._parts else np.empty(0, np.int64)

    @property
    def instructions(self) -> Array:
        """For each sector the address of the instruction that asked for it."""
        if not self._of:
            return np.empty(0, np.int64)
        addresses, counts = np.array(self._of).T
        return np.repeat(addresses, counts)

    def mark(self) -> tuple[int, int]:
        """A place to come back to."""
        return len(self._parts), self.length

    def shorten(self, mark: tuple[int, int]) -> None:
        """Forget what was added since."""
        parts, self.length = mark
        del self._parts[parts:], self._of[parts:]
