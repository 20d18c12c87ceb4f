"""Threads that meet at addresses, one after the other."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from sassim.interpreter.lanes import LANES
from sassim.interpreter.operations.address_spaces import (
    CLUSTER,
    LOCAL,
    SHARED,
    load,
    locate_shared,
    store,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sassim.interpreter.context import ExecutionContext
    from sassim.interpreter.lanes import Array
    from sassim.interpreter.operations.address_spaces import SpaceAccess

    Combine = Callable[[Array, Array], Array]
    """From what is there and what is given to what is there afterwards."""

_OWNER_SHIFT: Final = 32
_FEW: Final = 64
"""Threads at one address that are worth going through one by one for floating-point numbers."""
_ASSOCIATIVE: Final[dict[str, Any]] = {
    "ADD": np.add,
    "MIN": np.minimum,
    "MAX": np.maximum,
    "AND": np.bitwise_and,
    "OR": np.bitwise_or,
    "XOR": np.bitwise_xor,
}


def as_typed_words(raw: Array, kind: np.dtype[Any]) -> Array:
    """Words of memory or registers as numbers of a type, one a lane."""
    values = np.ascontiguousarray(raw).view(kind)
    return values[..., 0] if raw.ndim > 2 else values


def words(values: Array) -> Array:
    """Numbers as the words that memory takes."""
    raw = np.ascontiguousarray(values).view(np.uint32)
    return raw if values.dtype.itemsize == 4 else raw.reshape(*values.shape, -1)


class AtomicUpdate:
    """The lanes that access one kind of memory, in order of their addresses, warps and lanes."""

    def __init__(self, c: ExecutionContext, part: SpaceAccess, lanes: Array) -> None:
        self.c, self.part = c, part
        keys = _ordering_keys(c, part)[lanes]
        order = np.argsort(keys, kind="stable")
        ordered = keys[order]
        flat = np.flatnonzero(lanes)[order]
        self.rows, self.columns = flat // LANES, flat % LANES
        self.starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
        self.lengths = np.diff(np.r_[self.starts, len(ordered)])

    @cached_property
    def first(self) -> Array:
        """The first lane at each address, as warps by 32."""
        first = np.zeros((self.c.warps, LANES), np.bool_)
        first[self.rows[self.starts], self.columns[self.starts]] = True
        return first

    def apply(self, values: Array, combine: Combine, name: str, *, returns: bool) -> Array:
        """Carry out one atomic a thread; what each found there (anything if nobody asks)."""
        there = self._load_current(values.dtype)
        given = values[self.rows, self.columns]
        previous, after = self._compute_in_order(there, given, combine, name, returns=returns)
        self._store_results(after, np.ones(len(after), np.bool_))
        return self._by_lane(previous)

    def compare_and_swap(self, wanted: Array, values: Array) -> Array:
        """Leave each thread's value where it finds the one that it wants; what each found there."""
        there = self._load_current(values.dtype)
        wanted, given = (each[self.rows, self.columns] for each in (wanted, values))
        previous, current = np.empty(len(given), given.dtype), there.copy()
        swapped = np.zeros(len(there), np.bool_)
        for groups, now in self._rounds(np.ones(len(there), np.bool_)):
            previous[now] = current[groups]
            fits = previous[now] == wanted[now]
            current[groups[fits]] = given[now[fits]]
            swapped[groups[fits]] = True
        if swapped.any():
            self._store_results(current, swapped)
        return self._by_lane(previous)

    def _load_current(self, kind: np.dtype[Any]) -> Array:
        current = as_typed_words(
            load(self.c, [self.part._replace(active=self.first)], kind.itemsize), kind
        )
        there: Array = current[self.rows[self.starts], self.columns[self.starts]]
        return there

    def _store_results(self, values: Array, those: Array) -> None:
        """Write a value to each of those addresses."""
        at = self.starts[those]
        rows, columns = self.rows[at], self.columns[at]
        active_mask = np.zeros((self.c.warps, LANES), np.bool_)
        active_mask[rows, columns] = True
        by_lane = np.zeros((self.c.warps, LANES), values.dtype)
        by_lane[rows, columns] = values[those]
        store(
            self.c, [self.part._replace(active=active_mask)], words(by_lane), values.dtype.itemsize
        )

    def _by_lane(self, values: Array) -> Array:
        by_lane = np.zeros((self.c.warps, LANES), values.dtype)
        by_lane[self.rows, self.columns] = values
        return by_lane

    def _rounds(self, those: Array) -> Iterator[tuple[Array, Array]]:
        """The threads at those addresses in turn: positions of addresses, and of threads there."""
        groups = np.flatnonzero(those)
        position = 0
        while len(groups := groups[self.lengths[groups] > position]):
            yield groups, self.starts[groups] + position
            position += 1

    def _compute_in_order(
        self, there: Array, given: Array, combine: Combine, name: str, *, returns: bool
    ) -> tuple[Array, Array]:
        """What each thread finds, and what is there afterwards at each address."""
        most = int(self.lengths.max())
        if most == 1:
            return there, combine(there, given)
        function = _ASSOCIATIVE.get(name)
        is_float = given.dtype.kind == "f"
        if function is not None and not returns and not (is_float and most <= _FEW):
            total = function.reduceat(given, self.starts, dtype=given.dtype)
            return given, combine(there, total)
        if name == "ADD" and not is_float:
            sums = np.cumsum(given, dtype=given.dtype)
            before = sums - given
            base = there - before[self.starts]
            last = self.starts + self.lengths - 1
            return np.repeat(base, self.lengths) + before, base + sums[last]
        if name == "EXCH":
            previous = np.r_[given[:1], given[:-1]]
            previous[self.starts] = there
            return previous, given[self.starts + self.lengths - 1]
        previous = np.empty(len(given), given.dtype)
        current = there.copy()
        short = np.ones(len(self.starts), np.bool_)
        if name == "ADD" and most > _FEW:
            short = self.lengths <= _FEW
            for group in np.flatnonzero(~short):
                mine = slice(self.starts[group], self.starts[group] + self.lengths[group])
                sums = np.cumsum(np.r_[there[group], given[mine]], dtype=given.dtype)
                previous[mine], current[group] = sums[:-1], sums[-1]
        for groups, now in self._rounds(short):
            previous[now] = current[groups]
            current[groups] = combine(current[groups], given[now])
        return previous, current


def _ordering_keys(c: ExecutionContext, part: SpaceAccess) -> Array:
    """Addresses that differ between blocks, or threads, where each has its own memory."""
    at = c.broadcast(part.addresses)
    if part.space in (SHARED, CLUSTER):
        at, owner = locate_shared(c, at, part.active)
        at = at + (c.broadcast(owner).astype(np.int64) << _OWNER_SHIFT)
    elif part.space == LOCAL:
        at = at + (c.select_warps(c.blocks.thread_row).astype(np.int64) << _OWNER_SHIFT)
    return at
