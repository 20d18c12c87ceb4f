"""Accesses of a tally as they are carried out, for those who look at turns of loops."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

import numpy as np

from kernelprof.predict.counts.steps import same
from kernelprof.predict.counts.trace import Watched
from kernelprof.predict.machine.context import Counters

if TYPE_CHECKING:
    from kernelprof.predict.counts.tally import Tally
    from kernelprof.predict.machine.arrays import Array
    from kernelprof.predict.machine.context import Context
    from kernelprof.predict.sass.listing import Instruction
    from kernelprof.predict.sass.program import Block

    Saved = dict[int, tuple[Array, Array]]

_REMEMBERED: Final = 8
"""Arrays that others are compared with."""
_MOST_BYTES: Final = 1 << 27
"""Of the addresses of turns that are compared; of turns that take more, few are alike."""
_STEADY: Final = ("requests", "threads", "addresses", "alike")
"""Counts that do not depend on where exactly addresses lie."""


class Arrays:
    """The last arrays of a loop's accesses: those that say the same are kept once."""

    def __init__(self) -> None:
        self._bytes = 0
        self._starts: deque[Array] = deque(maxlen=_REMEMBERED)
        self._masks: deque[Array] = deque(maxlen=_REMEMBERED)

    @property
    def full(self) -> bool:
        """Whether they take so much memory that no more are to be kept."""
        return self._bytes > _MOST_BYTES

    def start_of(self, addresses: Array) -> tuple[Array, Array]:
        """Addresses as known ones, and what is to be added to those of each warp."""
        for start in self._starts:
            if start.shape == addresses.shape and _is_even(addresses[:1] - start[:1]):
                added = addresses - start
                if _is_even(added):
                    return start, np.ascontiguousarray(added[:, :1])
        self._starts.appendleft(addresses)
        self._bytes += addresses.nbytes
        return addresses, np.zeros((len(addresses), 1), np.int64)

    def same_as(self, mask: Array) -> Array:
        """A mask, as a known one that is the same."""
        for known in self._masks:
            if same(known, mask):
                return known
        self._masks.appendleft(mask)
        self._bytes += mask.nbytes
        return mask


def _is_even(added: Array) -> bool:
    """Whether it is the same for all lanes of a warp."""
    return bool((added == added[:, :1]).all())


class Watching(Counters):
    """Counts into a tally, and notes each access in a list, as long as there is room."""

    def __init__(self, tally: Tally, found: list[Watched], known: Arrays) -> None:
        super().__init__()
        self._tally = tally
        self._found = found
        self._known = known

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
        if not self._known.full:
            start, moved = self._known.start_of(spread)
            mask = None if taking is None else self._known.same_as(taking)
            self._found.append(Watched(i, space, kind, start, moved, mask, c.rows))
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
