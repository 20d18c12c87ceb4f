"""Accesses of a tally as they are carried out, for those who look at turns of loops."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from kernelprof.predict.counts.trace import Watched
from kernelprof.predict.machine.context import Counters

if TYPE_CHECKING:
    from kernelprof.predict.counts.tally import Tally
    from kernelprof.predict.machine.arrays import Array
    from kernelprof.predict.machine.context import Context
    from kernelprof.predict.sass.listing import Instruction
    from kernelprof.predict.sass.program import Block

    Saved = dict[int, tuple[Array, Array]]

_STEADY: Final = ("requests", "threads", "addresses", "alike")
"""Counts that do not depend on where exactly addresses lie."""


class Watching(Counters):
    """Counts into a tally, and notes each access in a list."""

    def __init__(self, tally: Tally, found: list[Watched]) -> None:
        super().__init__()
        self._tally = tally
        self._found = found

    def piece(self, c: Context, block: Block) -> None:
        """A straight piece of code is carried out."""
        self._tally.piece(c, block)

    def predicated(self, c: Context, i: Instruction, guard: Array) -> None:
        """An instruction is carried out by those threads for which its guard holds."""
        self._tally.predicated(c, i, guard)

    def branch(self, c: Context, i: Instruction, taken: Array) -> None:
        """A branch is taken by some threads."""
        self._tally.branch(c, i, taken)

    def constant(self, c: Context, i: Instruction, offsets: Array, taking: Array | None) -> None:
        """Constant memory is read."""
        self._tally.constant(c, i, offsets, taking)

    def access(
        self,
        c: Context,
        i: Instruction,
        space: str,
        kind: str,
        addresses: Array,
        *,
        taking: Array | None,
        size: int,
    ) -> None:
        """Memory is read or written."""
        spread = np.broadcast_to(addresses, (c.warps, addresses.shape[1]))
        self._found.append(Watched(i, space, kind, spread, taking, c.rows))
        self._tally.access(c, i, space, kind, addresses, taking=taking, size=size)


def _counts_of(tally: Tally, *, all_of_them: bool = True) -> list[Array]:
    """All counts of a tally, by warp, or those that do not depend on where addresses lie."""
    found = [each for run in tally.runs.values() for each in (run.warps, run.threads)]
    for access in tally.accesses.values():
        found += [each for name, each in access.counts.items() if all_of_them or name in _STEADY]
    found += tally.guarded.values()
    found += [each for pair in tally.branches.values() for each in pair]
    return found


def saved(tally: Tally) -> Saved:
    """All counts by identity, each with a copy of what it holds now."""
    return {id(each): (each, each.copy()) for each in _counts_of(tally)}


def since(tally: Tally, before: Saved) -> Saved:
    """The counts that changed, each with by how much."""
    found = {}
    for each in _counts_of(tally):
        known = before.get(id(each))
        change = each.copy() if known is None else each - known[1]
        if change.any():
            found[id(each)] = (each, change)
    return found


def steady(tally: Tally, changed: Saved) -> dict[int, Array]:
    """By how much those counts changed that do not depend on where exactly addresses lie."""
    wanted = {id(each) for each in _counts_of(tally, all_of_them=False)}
    return {key: change for key, (_, change) in changed.items() if key in wanted}


def take_back(tally: Tally, before: Saved) -> None:
    """Have all counts be what they were."""
    for each in _counts_of(tally):
        known = before.get(id(each))
        each[:] = 0 if known is None else known[1]
