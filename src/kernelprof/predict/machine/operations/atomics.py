"""Atomic operations in global and shared memory.

Threads that meet at one address go one after the other, by warp and lane. A GPU's order may be
another; whole numbers do not depend on it, floating-point sums by their rounding.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kernelprof.predict.machine.context import LANES, NotKnownError, guard_of, put, put_predicate
from kernelprof.predict.machine.operations import operation
from kernelprof.predict.machine.operations.memory import (
    Access,
    address_of,
    everyone,
    values_of,
    words_of,
)
from kernelprof.predict.sass.operands import ZERO, Address, Predicate, Register

if TYPE_CHECKING:
    from collections.abc import Callable

    from kernelprof.predict.machine.context import Array, Context
    from kernelprof.predict.machine.operations import Step
    from kernelprof.predict.sass.listing import Instruction

    Combine = Callable[[Array, Array], Array]
    """From what is there and what is given to what is there afterwards."""

_COMBINE: Final[dict[str, Combine]] = {
    "ADD": np.add,
    "MIN": np.minimum,
    "MAX": np.maximum,
    "AND": np.bitwise_and,
    "OR": np.bitwise_or,
    "XOR": np.bitwise_xor,
    "EXCH": lambda _, new: new,
    "INC": lambda old, most: np.where(old >= most, 0, old + 1).astype(old.dtype),
    "DEC": lambda old, most: np.where((old == 0) | (old > most), most, old - 1).astype(old.dtype),
}


def _kind(i: Instruction) -> np.dtype[Any]:
    """The type of the numbers, by the modifiers."""
    if i.has("F64"):
        return np.dtype(np.float64)
    if i.has("F32"):
        return np.dtype(np.float32)
    if i.has("64"):
        return np.dtype(np.int64 if i.has("S64", "S") else np.uint64)
    if i.has("S32"):
        return np.dtype(np.int32)
    if i.has("F16x2", "BF16x2", "F16X2", "128", "F16", "BF16"):
        raise NotKnownError(i)
    return np.dtype(np.uint32)


def _name(i: Instruction) -> str:
    found = [each for each in i.modifiers if each in _COMBINE]
    if len(found) != 1:
        raise NotKnownError(i)
    return found[0]


@operation("ATOMG", "ATOM", "ATOMS", "RED", "REDG")
def _atomic(i: Instruction) -> Step:
    if i.has("CAS", "CAST"):
        return _compare_and_swap(i)
    if i.has("POPC"):
        return _count(i)
    access = Access("shared") if i.opcode == "ATOMS" else Access("global", wide=True)
    kind, name = _kind(i), _name(i)
    place = next(n for n, each in enumerate(i.operands) if isinstance(each, Address))
    at = address_of(i, i.operands[place], wide=access.wide)
    given = values_of(i, i.operands[place + 1], kind.itemsize)
    targets = [each for each in i.operands[:place] if isinstance(each, Register)]
    flags = [put_predicate(each) for each in i.operands[:place] if isinstance(each, Predicate)]
    results = [put(targets[0], n) for n in range(words_of(kind.itemsize))] if targets else []
    returns = bool(targets) and targets[0].index != ZERO
    guard, combine = guard_of(i), _COMBINE[name]
    how = "atomic" if i.opcode in ("ATOMS", "ATOMG", "ATOM") else "reduction"

    def work(c: Context) -> None:
        active = guard(c)
        taking = everyone(c, c.active(active))
        if not taking.any():
            return
        places = np.broadcast_to(at(c), taking.shape)
        c.machine.counters.access(c, i, access.space, how, places, taking, kind.itemsize)
        if c.machine.is_unused(i):
            old = np.zeros(taking.shape, kind)
        else:
            values = np.ascontiguousarray(given(c)).view(kind).reshape(taking.shape)
            old = _one_by_one(c, access, places, taking, values, combine, name)
        if returns:
            _give_back(c, results, old, active)
        for flag in flags:
            flag(c, np.ones((1, 1), np.bool_), active)

    return work


def _give_back(
    c: Context,
    results: list[Callable[[Context, Array, Array | None], None]],
    old: Array,
    active: Array | None,
) -> None:
    words = np.ascontiguousarray(old).view(np.uint32).reshape(c.warps, LANES, -1)
    for n, result in enumerate(results):
        result(c, np.ascontiguousarray(words[..., n]), active)


def _one_by_one(
    c: Context,
    access: Access,
    places: Array,
    taking: Array,
    values: Array,
    combine: Combine,
    name: str,
) -> Array:
    """Carry out one atomic a thread; what each found there."""
    where = _keys(c, access, places)[taking]
    order = np.argsort(where, kind="stable")
    sorted_keys = where[order]
    starts = np.flatnonzero(np.r_[True, sorted_keys[1:] != sorted_keys[:-1]])
    lengths = np.diff(np.r_[starts, len(sorted_keys)])
    lanes = np.argwhere(taking)[order]
    rows, columns = lanes[:, 0], lanes[:, 1]
    first = _mask(taking, rows[starts], columns[starts])
    size = values.dtype.itemsize
    there = _typed(access.load(c, places, first, size), values.dtype)[rows[starts], columns[starts]]
    given = values[rows, columns]
    found = np.empty(len(given), values.dtype)
    if name == "ADD" and lengths.max() > 1:
        sums = np.cumsum(given, dtype=given.dtype) if values.dtype.kind != "f" else None
        if sums is not None:
            before = sums - given
            found = np.repeat(there - before[starts], lengths) + before
            after = there + np.add.reduceat(given, starts, dtype=given.dtype)
            _store_first(c, access, places, first, rows, columns, starts, after)
            return _back(taking, rows, columns, found)
    rank = np.arange(len(given)) - np.repeat(starts, lengths)
    group = np.repeat(np.arange(len(starts)), lengths)
    current = there.copy()
    for turn in range(int(lengths.max())):
        now = rank == turn
        found[now] = current[group[now]]
        current[group[now]] = combine(current[group[now]], given[now])
    _store_first(c, access, places, first, rows, columns, starts, current)
    return _back(taking, rows, columns, found)


def _keys(c: Context, access: Access, places: Array) -> Array:
    """Addresses that differ between blocks where each has its own memory."""
    if access.space == "shared":
        return places + (c.machine.block_of(c) << 32)
    return places


def _mask(taking: Array, rows: Array, columns: Array) -> Array:
    found = np.zeros(taking.shape, np.bool_)
    found[rows, columns] = True
    return found


def _typed(raw: Array, kind: np.dtype[Any]) -> Array:
    if raw.ndim > 2:
        return np.ascontiguousarray(raw).view(kind)[..., 0]
    return raw.view(kind)


def _store_first(
    c: Context,
    access: Access,
    places: Array,
    first: Array,
    rows: Array,
    columns: Array,
    starts: Array,
    after: Array,
) -> None:
    spread = np.zeros(first.shape, after.dtype)
    spread[rows[starts], columns[starts]] = after
    size = after.dtype.itemsize
    stored = spread.view(np.uint32) if size == 4 else spread.view(np.uint32).reshape(*first.shape, -1)
    access.store(c, places, first, stored, size)


def _back(taking: Array, rows: Array, columns: Array, found: Array) -> Array:
    spread = np.zeros(taking.shape, found.dtype)
    spread[rows, columns] = found
    return spread


def _count(i: Instruction) -> Step:
    """``ATOMS.POPC.INC``: adds one for each thread."""
    access = Access("shared")
    place = next(n for n, each in enumerate(i.operands) if isinstance(each, Address))
    at = address_of(i, i.operands[place], wide=False)
    targets = [each for each in i.operands[:place] if isinstance(each, Register)]
    results = [put(targets[0])] if targets else []
    returns = bool(targets) and targets[0].index != ZERO
    guard = guard_of(i)

    def work(c: Context) -> None:
        active = guard(c)
        taking = everyone(c, c.active(active))
        if not taking.any():
            return
        places = np.broadcast_to(at(c), taking.shape)
        c.machine.counters.access(c, i, "shared", "count", places, taking, 4)
        ones = np.ones(taking.shape, np.uint32)
        old = np.zeros(taking.shape, np.uint32)
        if not c.machine.is_unused(i):
            old = _one_by_one(c, access, places, taking, ones, np.add, "ADD")
        if returns:
            _give_back(c, results, old, active)

    return work


def _compare_and_swap(i: Instruction) -> Step:
    access = Access("shared") if i.opcode == "ATOMS" else Access("global", wide=True)
    kind = np.dtype(np.uint64 if i.has("64") else np.uint32)
    place = next(n for n, each in enumerate(i.operands) if isinstance(each, Address))
    at = address_of(i, i.operands[place], wide=access.wide)
    wanted = values_of(i, i.operands[place + 1], kind.itemsize)
    given = values_of(i, i.operands[place + 2], kind.itemsize)
    targets = [each for each in i.operands[:place] if isinstance(each, Register)]
    flags = [put_predicate(each) for each in i.operands[:place] if isinstance(each, Predicate)]
    results = [put(targets[0], n) for n in range(words_of(kind.itemsize))] if targets else []
    guard, spins = guard_of(i), i.has("CAST")

    def work(c: Context) -> None:
        active = guard(c)
        taking = everyone(c, c.active(active))
        if not taking.any():
            return
        places = np.broadcast_to(at(c), taking.shape)
        c.machine.counters.access(c, i, access.space, "compare", places, taking, kind.itemsize)
        olds = np.ascontiguousarray(wanted(c)).view(kind).reshape(taking.shape)
        news = np.ascontiguousarray(given(c)).view(kind).reshape(taking.shape)
        found = np.zeros(taking.shape, kind)
        left = taking.copy()
        while left.any():
            keys = np.where(left, _keys(c, access, places), -1)
            _, first = np.unique(keys[left], return_index=True)
            lanes = np.argwhere(left)[first]
            now = _mask(taking, lanes[:, 0], lanes[:, 1])
            there = _typed(access.load(c, places, now, kind.itemsize), kind)
            found = np.where(now, there, found)
            swap = now & (found == olds)
            if swap.any():
                stored = news if kind.itemsize == 4 else news.view(np.uint32).reshape(*taking.shape, -1)
                access.store(c, places, swap, stored, kind.itemsize)
            left &= ~now
        if spins:
            # The result is whether it was swapped.
            _give_back(c, results, (found == olds).astype(np.uint32), active)
            return
        _give_back(c, results, found, active)
        for flag in flags:
            flag(c, found == olds, active)

    return work
