"""Record accesses while they are counted, and undo counts: what skipping of iterations needs."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

import numpy as np

from sassim.counters.trace import RecordedAccess
from sassim.interpreter.context import Observer
from sassim.loops.affine import arrays_equal

if TYPE_CHECKING:
    from sassim.counters.counters import BlockCounters
    from sassim.interpreter.context import Access, ExecutionContext
    from sassim.interpreter.lanes import Array
    from sassim.sass.listing import Instruction
    from sassim.sass.program import BasicBlock

    Saved = dict[int, tuple[Array, Array]]

_REMEMBERED: Final = 8
"""Arrays that new ones are compared with."""
_MOST_BYTES: Final = 1 << 27
"""Of addresses of iterations that are compared; longer iterations are seldom alike."""
_STEADY: Final = ("requests", "threads", "addresses", "alike")
"""Counts that do not depend on where exactly addresses lie."""


class ArrayPool:
    """The last arrays of a loop's accesses: equal ones are stored once."""

    def __init__(self) -> None:
        self._bytes = 0
        self._starts: deque[Array] = deque(maxlen=_REMEMBERED)
        self._masks: deque[Array] = deque(maxlen=_REMEMBERED)

    @property
    def full(self) -> bool:
        """Whether they take so much memory that no more may be stored."""
        return self._bytes > _MOST_BYTES

    def start_of(self, addresses: Array) -> tuple[Array, Array]:
        """Return addresses as stored ones, and what is to be added to those of each warp."""
        for start in self._starts:
            if start.shape == addresses.shape and _is_uniform(addresses[:1] - start[:1]):
                added = addresses - start
                if _is_uniform(added):
                    return start, np.ascontiguousarray(added[:, :1])
        self._starts.appendleft(addresses)
        self._bytes += addresses.nbytes
        return addresses, np.zeros((len(addresses), 1), np.int64)

    def same_as(self, mask: Array) -> Array:
        """Return a stored mask that is equal."""
        for earlier in self._masks:
            if arrays_equal(earlier, mask):
                return earlier
        self._masks.appendleft(mask)
        self._bytes += mask.nbytes
        return mask


def _is_uniform(added: Array) -> bool:
    return bool((added == added[:, :1]).all())


class AccessRecorder(Observer):
    """Counts accesses, and records each in a list while there is room."""

    def __init__(
        self, counters: BlockCounters, accesses: list[RecordedAccess], arrays: ArrayPool
    ) -> None:
        super().__init__()
        self._counters = counters
        self._accesses = accesses
        self._arrays = arrays

    def on_basic_block(self, c: ExecutionContext, block: BasicBlock) -> None:
        self._counters.on_basic_block(c, block)

    def on_guard(self, c: ExecutionContext, i: Instruction, guard: Array) -> None:
        self._counters.on_guard(c, i, guard)

    def on_branch(self, c: ExecutionContext, i: Instruction, predicate: Array) -> None:
        self._counters.on_branch(c, i, predicate)

    def on_constant_load(
        self, c: ExecutionContext, i: Instruction, offsets: Array, active: Array | None
    ) -> None:
        self._counters.on_constant_load(c, i, offsets, active)

    def on_access(self, access: Access) -> None:
        """Record an access while there is room, and count it."""
        if not self._arrays.full:
            shape = access.context.warps, access.addresses.shape[1]
            start, moved = self._arrays.start_of(np.broadcast_to(access.addresses, shape))
            active = None if access.active is None else self._arrays.same_as(access.active)
            self._accesses.append(
                RecordedAccess(
                    access.instruction,
                    access.space,
                    access.kind,
                    start,
                    moved,
                    active,
                    access.context.rows,
                )
            )
        self._counters.on_access(access)


def _counts_of(counters: BlockCounters, *, all_of_them: bool = True) -> list[Array]:
    """Return all counts by warp, or those that do not depend on the addresses."""
    counts = [each for run in counters.runs.values() for each in (run.warps, run.threads)]
    for access in counters.accesses.values():
        counts += [each for name, each in access.counts.items() if all_of_them or name in _STEADY]
    counts += counters.guarded.values()
    counts += [each for pair in counters.branches.values() for each in pair]
    return counts


def save_counts(counters: BlockCounters) -> Saved:
    """Return all counts by identity, each with a copy of its values."""
    return {id(each): (each, each.copy()) for each in _counts_of(counters)}


def changes_since(counters: BlockCounters, before: Saved) -> Saved:
    """Return the counts that changed, each with its change."""
    counts = {}
    for each in _counts_of(counters):
        earlier = before.get(id(each))
        change = each.copy() if earlier is None else each - earlier[1]
        if change.any():
            counts[id(each)] = (each, change)
    return counts


def position_independent(counters: BlockCounters, changed: Saved) -> dict[int, Array]:
    """Return the changes of counts that do not depend on the exact addresses."""
    wanted = {id(each) for each in _counts_of(counters, all_of_them=False)}
    return {key: change for key, (_, change) in changed.items() if key in wanted}


def restore_counts(counters: BlockCounters, before: Saved) -> None:
    """Reset all counts to saved values."""
    for each in _counts_of(counters):
        earlier = before.get(id(each))
        each[:] = 0 if earlier is None else earlier[1]
