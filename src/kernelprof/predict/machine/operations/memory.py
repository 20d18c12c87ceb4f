"""Loads and stores: global, shared, local, generic, and copies from global to shared memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kernelprof.predict.machine.arrays import LANES
from kernelprof.predict.machine.context import NotKnownError
from kernelprof.predict.machine.operations import operation
from kernelprof.predict.machine.operations.spaces import (
    CLUSTER,
    GLOBAL,
    LOCAL,
    SHARED,
    SPACES,
    address_of,
    forget,
    load,
    parts_of,
    store,
    where,
)
from kernelprof.predict.machine.values import guard_of, predicate, put, put_predicate, whole
from kernelprof.sass.operands import ZERO, Address, Predicate, Register

if TYPE_CHECKING:
    from collections.abc import Callable

    from kernelprof.predict.machine.arrays import Array
    from kernelprof.predict.machine.context import Context
    from kernelprof.predict.machine.operations import Step
    from kernelprof.predict.machine.operations.spaces import Part
    from kernelprof.predict.sass.listing import Instruction
    from kernelprof.sass.operands import Operand


def everyone(c: Context, taking: Array | None) -> Array:
    """A mask of the lanes that take part."""
    return np.ones((c.warps, LANES), np.bool_) if taking is None else taking


def words_of(size: int) -> int:
    """Registers that an access of so many bytes needs."""
    return max(1, size // 4)


def count(c: Context, i: Instruction, kind: str, parts: list[Part], size: int) -> None:
    """Tell the counters of an access."""
    for part in parts:
        c.counters.access(c, i, part.space, kind, part.addresses, taking=part.taking, size=size)


def address_in(i: Instruction) -> tuple[int, Operand]:
    """The operand that is an address, and its place."""
    for place, each in enumerate(i.operands):
        if isinstance(each, Address):
            return place, each
    raise NotKnownError(i)


@operation("LDG", "LDS", "LDL", "LD")
def _load(i: Instruction) -> Step:
    place, operand = address_in(i)
    space, at = where(i, operand)
    targets = [each for each in i.operands[:place] if isinstance(each, Register)]
    if not targets or any(isinstance(each, Predicate) for each in i.operands):
        raise NotKnownError(i)
    size, guard = i.width // 8, guard_of(i)
    results = _spread_over(targets, size)
    is_signed = i.has("S8", "S16")

    def work(c: Context) -> None:
        active = guard(c)
        taking = c.active(active)
        if taking is not None and not taking.any():
            return
        parts = parts_of(space, c, at(c), taking)
        count(c, i, "load", parts, size)
        if c.is_unused(i):
            for result in results:
                result(c, np.zeros((1, 1), np.uint32), active)
            return
        got = load(c, parts, size)
        for word, result in enumerate(results):
            result(c, _word(got, word, size, is_signed=is_signed), active)

    return work


def _spread_over(
    targets: list[Register], size: int
) -> list[Callable[[Context, Array, Array | None], None]]:
    """The registers that an access fills: in a row; of 256 bits the second half is named first."""
    words = max(1, words_of(size) // len(targets))
    return [put(each, word) for each in reversed(targets) for word in range(words)]


def _word(got: Array, word: int, size: int, *, is_signed: bool) -> Array:
    if size == 4:
        return got
    if size > 4:
        return np.ascontiguousarray(got[..., word])
    if is_signed:
        return got.view(np.dtype(f"int{8 * size}")).astype(np.int32).view(np.uint32)
    return got.astype(np.uint32)


@operation("STG", "STS", "STL", "ST")
def _store(i: Instruction) -> Step:
    place, operand = address_in(i)
    space, at = where(i, operand)
    size, guard = i.width // 8, guard_of(i)
    read = values_of(i, i.operands[place + 1], size, *i.operands[place + 2 :])

    def work(c: Context) -> None:
        taking = c.active(guard(c))
        if taking is not None and not taking.any():
            return
        parts = parts_of(space, c, at(c), taking)
        count(c, i, "store", parts, size)
        if c.is_unused(i):
            forget(c, i, parts, size)
        else:
            store(c, parts, read(c), size)

    return work


def values_of(
    i: Instruction, source: Operand, size: int, *more: Operand
) -> Callable[[Context], Array]:
    """What is stored, as warps by 32, with words in a last dimension where there are more."""
    sources = [each for each in (source, *more) if isinstance(each, Register)]
    if not isinstance(source, Register) or len(sources) != 1 + len(more):
        raise NotKnownError(i)
    count_of_each = words_of(size) // len(sources)
    words = [
        whole(each if each.index == ZERO else Register(each.index + n, each.uniform))
        for each in sources
        for n in range(max(1, count_of_each))
    ]

    def read(c: Context) -> Array:
        if size > 4:
            return np.stack([c.every(word(c)) for word in words], axis=-1)
        values = c.every(words[0](c))
        return values if size == 4 else values.astype(np.dtype(f"uint{8 * size}"))

    return read


@operation("LDGSTS")
def _copy(i: Instruction) -> Step:
    """``cp.async``: from global to shared memory, past the registers. Here it is there at once.

    Where the predicate behind the addresses is false nothing is read and zeros are stored. With
    ``.ZFILL`` the lowest bits of the source say how many bytes at the end are zeros.
    """
    to, source = (each for each in i.operands if isinstance(each, Address))
    wanted = [predicate(each) for each in i.operands if isinstance(each, Predicate)]
    target, at = address_of(i, to, wide=False), address_of(i, source, wide=True)
    size, guard = i.width // 8, guard_of(i)
    fills = i.has("ZFILL")

    def work(c: Context) -> None:
        taking = c.active(guard(c))
        if taking is not None and not taking.any():
            return
        reading = taking
        for each in wanted:
            reading = everyone(c, taking) & each(c)
        places = at(c)
        sources = parts_of(GLOBAL, c, places & -size if fills else places, reading)
        targets = parts_of(SHARED, c, target(c), taking)
        if reading is None or reading.any():
            count(c, i, "copy", sources, size)
        count(c, i, "copy", targets, size)
        if c.is_unused(i):
            forget(c, i, targets, size)
            return
        got = load(c, sources, size)
        got = np.broadcast_to(got, (c.warps, LANES, *got.shape[2:]))
        if reading is not None and reading is not taking:
            keeps = reading if got.ndim == 2 else reading[..., None]
            got = np.where(keeps, got, np.zeros((), got.dtype))
        if fills:
            got = _filled(got, size - (c.every(places) & (size - 1)), size)
        store(c, targets, got, size)

    return work


def _filled(got: Array, kept: Array, size: int) -> Array:
    """Values of which so many bytes are kept; the rest is zeros."""
    raw = np.ascontiguousarray(got).view(np.uint8).reshape(*kept.shape, size)
    cut = np.where(np.arange(size) < kept[..., None], raw, np.uint8(0))
    return cut.view(got.dtype).reshape(got.shape)


@operation("QSPC")
def _ask_space(i: Instruction) -> Step:
    """Whether a generic address is one of global, shared or local memory, or of a cluster's."""
    flag, guard = put_predicate(i.operands[0]), guard_of(i)
    _, operand = address_in(i)
    at = address_of(i, operand, wide=True)
    asked = {"G": (GLOBAL,), "S": (SHARED,), "D": (SHARED, CLUSTER), "L": (LOCAL,)}
    wanted = next((spaces for name, spaces in asked.items() if i.has(name)), None)
    if wanted is None:
        raise NotKnownError(i)

    def work(c: Context) -> None:
        found = np.zeros((c.warps, LANES), np.bool_)
        for part in parts_of(SPACES["LD"], c, at(c), None):
            if part.space in wanted:
                found |= everyone(c, part.taking)
        flag(c, found, guard(c))

    return work
