"""Convergence barriers of warps: who meets where (BSSY, BSYNC, BREAK, WARPSYNC)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kernelprof.predict.machine.context import LANES

if TYPE_CHECKING:
    from kernelprof.predict.machine.context import Array, Context


class ConvergenceBarriers:
    """Which lanes take part in each barrier, and which already wait at it."""

    def __init__(self, warps: int) -> None:
        self._warps = warps
        self._members: dict[int, Array] = {}
        self.waiting: dict[tuple[int, int], Array] = {}
        """Lanes that wait, by barrier and the address behind it."""

    def _all(self, index: int) -> Array:
        if index not in self._members:
            self._members[index] = np.zeros((self._warps, LANES), np.bool_)
        return self._members[index]

    def members(self, index: int, c: Context) -> Array:
        """The lanes of a context's warps that take part."""
        every = self._all(index)
        return every if c.rows is None else every[c.rows]

    def set_members(self, index: int, c: Context, members: Array) -> None:
        """Say who takes part."""
        every = self._all(index)
        if c.rows is None:
            every[:] = members
        else:
            every[c.rows] = members

    def leave(self, index: int, lanes: Array) -> None:
        """Lanes of all warps that do not take part any more (BREAK)."""
        self._all(index)[lanes] = False

    def wait(self, index: int, behind: int, lanes: Array) -> None:
        """Lanes that have arrived."""
        key = index, behind
        found = self.waiting.get(key)
        self.waiting[key] = lanes if found is None else found | lanes

    def released(self, alive: Array) -> list[tuple[int, Array]]:
        """Lanes that can go on, with the address at which they do."""
        found = []
        for (index, behind), waiting in list(self.waiting.items()):
            missing = self._all(index) & alive & ~self._arrived(index)
            ready = waiting & ~missing.any(axis=1, keepdims=True)
            if ready.any():
                found.append((behind, ready))
                left = waiting & ~ready
                if left.any():
                    self.waiting[index, behind] = left
                else:
                    del self.waiting[index, behind]
        return found

    def _arrived(self, index: int) -> Array:
        here = [lanes for (barrier, _), lanes in self.waiting.items() if barrier == index]
        total = here[0]
        for each in here[1:]:
            total = total | each
        return total
