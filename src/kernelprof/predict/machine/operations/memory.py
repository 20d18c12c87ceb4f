"""Loads and stores: global, shared, local, generic, and copies from global to shared memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from kernelprof.predict.machine.context import (
    LANES,
    NotKnownError,
    guard_of,
    pair,
    put,
    whole,
)
from kernelprof.predict.machine.operations import operation
from kernelprof.predict.sass.operands import ZERO, Address, Predicate, Register

if TYPE_CHECKING:
    from collections.abc import Callable

    from kernelprof.predict.machine.context import Array, Context
    from kernelprof.predict.machine.operations import Step
    from kernelprof.predict.sass.listing import Instruction
    from kernelprof.predict.sass.operands import Operand


def address_of(i: Instruction, operand: Operand, *, wide: bool) -> Callable[[Context], Array]:
    """The addresses that lanes access, as 64-bit numbers; ``wide``: where addresses have 64 bits."""
    if not isinstance(operand, Address):
        raise NotKnownError(i)
    offset, scale = operand.offset, operand.scale
    terms: list[Callable[[Context], Array]] = []
    for register in (operand.register, operand.uniform):
        if register is None or register.index == ZERO:
            continue
        if wide and "64" in register.part.split("."):
            terms.append(_pair_of(register))
        else:
            read = whole(Register(register.index, register.uniform))
            narrow = wide and "U32" not in register.part.split(".")
            terms.append(_narrow(read, scale if register is operand.register else 1, narrow))

    def work(c: Context) -> Array:
        total: Array = np.full((1, 1), offset, np.int64)
        for n, term in enumerate(terms):
            total = term(c) + offset if n == 0 else total + term(c)
        return total if wide else total & 0xFFFFFFFF

    return work


def _pair_of(register: Register) -> Callable[[Context], Array]:
    index = register.index
    if register.uniform:
        return lambda c: pair(c.u[index], c.u[index + 1]).view(np.int64)
    return lambda c: pair(c.r[index], c.r[index + 1]).view(np.int64)


def _narrow(
    read: Callable[[Context], Array], scale: int, is_signed: bool
) -> Callable[[Context], Array]:
    if is_signed:
        return lambda c: read(c).view(np.int32).astype(np.int64) * scale
    return lambda c: read(c).astype(np.int64) * scale


class Access:
    """How a kind of memory is read and written for a context."""

    def __init__(self, space: str, *, wide: bool = False) -> None:
        self.space = space
        self.wide = wide

    def load(self, c: Context, at: Array, taking: Array | None, size: int) -> Array:
        """The values, as :class:`kernelprof.predict.machine.memory.GlobalMemory` gives them."""
        if taking is not None:
            at = np.broadcast_to(at, taking.shape)
        if self.space == "global":
            return c.machine.memory.load(at, taking, size)
        if self.space == "shared":
            return c.machine.shared.load(at, c.machine.block_of(c), taking, size)
        return c.machine.local.load(at, c.machine.thread_of(c), taking, size)

    def store(self, c: Context, at: Array, taking: Array, values: Array, size: int) -> None:
        """Write values."""
        at = np.broadcast_to(at, taking.shape)
        if self.space == "global":
            c.machine.memory.store(at, taking, values, size)
        elif self.space == "shared":
            c.machine.shared.store(at, c.machine.block_of(c), taking, values, size)
        else:
            c.machine.local.store(at, c.machine.thread_of(c), taking, values, size)


_SPACES: Final = {
    "LDG": Access("global", wide=True),
    "STG": Access("global", wide=True),
    "LDS": Access("shared"),
    "STS": Access("shared"),
    "LDL": Access("local"),
    "STL": Access("local"),
}


def everyone(c: Context, taking: Array | None) -> Array:
    """A mask of the lanes that take part."""
    return np.ones((c.warps, LANES), np.bool_) if taking is None else taking


def words_of(size: int) -> int:
    """Registers that an access of so many bytes needs."""
    return max(1, size // 4)


@operation("LDG", "LDS", "LDL")
def _load(i: Instruction) -> Step:
    access = _SPACES[i.opcode]
    targets = [each for each in i.operands if isinstance(each, Register)]
    extra = [each for each in i.operands[1:] if isinstance(each, Predicate)]
    if extra:
        raise NotKnownError(i)
    where = next(each for each in i.operands if isinstance(each, Address))
    at, size, guard = address_of(i, where, wide=access.wide), i.width // 8, guard_of(i)
    results = [put(targets[0], word) for word in range(words_of(size))]
    is_signed = i.has("S8", "S16")

    def load(c: Context) -> None:
        active = guard(c)
        taking = c.active(active)
        if taking is not None and not taking.any():
            return
        places = at(c)
        c.machine.counters.access(c, i, access.space, "load", places, taking, size)
        if c.machine.is_unused(i):
            values = np.zeros((1, 1), np.uint32)
            for result in results:
                result(c, values, active)
            return
        got = access.load(c, places, taking, size)
        for word, result in enumerate(results):
            result(c, _word(got, word, size, is_signed), active)

    return load


def _word(got: Array, word: int, size: int, is_signed: bool) -> Array:
    if size == 4:
        return got
    if size > 4:
        return np.ascontiguousarray(got[..., word])
    if is_signed:
        return got.view(np.dtype(f"int{8 * size}")).astype(np.int32).view(np.uint32)
    return got.astype(np.uint32)


@operation("STG", "STS", "STL")
def _store(i: Instruction) -> Step:
    access = _SPACES[i.opcode]
    where, source = i.operands[:2]
    at, size, guard = address_of(i, where, wide=access.wide), i.width // 8, guard_of(i)
    read = values_of(i, source, size)

    def store(c: Context) -> None:
        taking = c.active(guard(c))
        if taking is not None and not taking.any():
            return
        places = at(c)
        c.machine.counters.access(c, i, access.space, "store", places, taking, size)
        if not c.machine.is_unused(i):
            lanes = everyone(c, taking)
            access.store(c, places, lanes, read(c), size)

    return store


def values_of(i: Instruction, source: Operand, size: int) -> Callable[[Context], Array]:
    """What is stored, as warps by 32, with words in a last dimension where there are more."""
    if not isinstance(source, Register):
        raise NotKnownError(i)
    words = [
        whole(source if source.index == ZERO else Register(source.index + n, source.uniform))
        for n in range(words_of(size))
    ]

    def read(c: Context) -> Array:
        if size > 4:
            return np.stack([c.every(word(c)) for word in words], axis=-1)
        values = c.every(words[0](c))
        return values if size == 4 else values.astype(np.dtype(f"uint{8 * size}"))

    return read


@operation("LDGSTS")
def _copy(i: Instruction) -> Step:
    """``cp.async``: from global to shared memory, past the registers. Here it is there at once."""
    to, source = (each for each in i.operands if isinstance(each, Address))
    extra = [each for each in i.operands if isinstance(each, Predicate)]
    if extra:
        raise NotKnownError(i)
    target, at = address_of(i, to, wide=False), address_of(i, source, wide=True)
    size, guard = i.width // 8, guard_of(i)
    there, here = Access("global", wide=True), Access("shared")

    def copy(c: Context) -> None:
        taking = c.active(guard(c))
        if taking is not None and not taking.any():
            return
        places, goals = at(c), target(c)
        c.machine.counters.access(c, i, "global", "copy", places, taking, size)
        c.machine.counters.access(c, i, "shared", "copy", goals, taking, size)
        if not c.machine.is_unused(i):
            got = there.load(c, places, taking, size)
            shape = (c.warps, LANES) if size <= 4 else (c.warps, LANES, size // 4)
            here.store(c, goals, everyone(c, taking), np.broadcast_to(got, shape), size)

    return copy


