"""Predicates: comparisons of whole numbers, logic, and what they choose."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from kernelprof.predict.machine.context import NotKnownError
from kernelprof.predict.machine.operations import operation
from kernelprof.predict.machine.operations.packed import packed_kind
from kernelprof.predict.machine.values import (
    guard_of,
    predicate,
    put,
    put_predicate,
    put_wide,
    signed,
    single,
    whole,
    wide_whole,
)
from kernelprof.sass.operands import TRUE, Immediate, Predicate

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kernelprof.predict.machine.arrays import Array
    from kernelprof.predict.machine.context import Context
    from kernelprof.predict.machine.operations import Step
    from kernelprof.predict.machine.values import Read
    from kernelprof.predict.sass.listing import Instruction
    from kernelprof.sass.operands import Operand

_COMPARE: Final[dict[str, Callable[[Array, Array], Array]]] = {
    "LT": np.less,
    "LE": np.less_equal,
    "GT": np.greater,
    "GE": np.greater_equal,
    "EQ": np.equal,
    "NE": np.not_equal,
    "T": lambda a, b: np.ones(np.broadcast_shapes(a.shape, b.shape), np.bool_),
    "F": lambda a, b: np.zeros(np.broadcast_shapes(a.shape, b.shape), np.bool_),
}
_STRICT: Final = {"LT": np.less, "LE": np.less, "GT": np.greater, "GE": np.greater}

_JOIN: Final[dict[str, Callable[[Array, Array], Array]]] = {
    "AND": np.logical_and,
    "OR": np.logical_or,
    "XOR": np.logical_xor,
}


def joined_by(i: Instruction) -> Callable[[Array, Array], Array]:
    """How a comparison is joined with the predicate behind it."""
    for name, function in _JOIN.items():
        if i.has(name):
            return function
    raise NotKnownError(i)


def _read(i: Instruction, operand: Operand) -> Read:
    """A whole number with or without sign, of 32 or 64 bits."""
    if i.has("U64"):
        return wide_whole(operand)
    if i.has("S64"):
        read = wide_whole(operand)
        return lambda c: read(c).view(np.int64)
    return whole(operand) if i.has("U32") else signed(operand)


@operation("ISETP", "UISETP", modifiers="LT LE GT GE EQ NE T F AND OR XOR U32 U64 S64 EX")
def _compare(i: Instruction) -> Step:
    """With EX the upper halves are compared, and a predicate says what the lower ones gave."""
    name = i.modifiers[0]
    first, second = put_predicate(i.operands[0]), put_predicate(i.operands[1])
    twice = isinstance(i.operands[1], Predicate) and i.operands[1].index != TRUE
    a, b = _read(i, i.operands[2]), _read(i, i.operands[3])
    joined = i.operands[4]
    trivially = i.has("AND") and isinstance(joined, Predicate) and _always(joined)
    other, low = predicate(joined), predicate(i.operands[5]) if i.has("EX") else None
    join, guard, compare = joined_by(i), guard_of(i), _COMPARE[name]

    def work(c: Context) -> None:
        x, y = a(c), b(c)
        if low is None:
            found = compare(x, y)
        elif name == "EQ":
            found = (x == y) & low(c)
        elif name == "NE":
            found = (x != y) | low(c)
        else:
            found = _STRICT[name](x, y) | ((x == y) & low(c))
        active = guard(c)
        if trivially:
            first(c, found, active)
            if twice:
                second(c, ~found, active)
            return
        with_what = other(c)
        first(c, join(found, with_what), active)
        if twice:
            second(c, join(~found, with_what), active)

    return work


def _always(operand: Predicate) -> bool:
    return operand.index == TRUE and not operand.negated


@operation("PLOP3", "UPLOP3", modifiers="LUT")
def _predicate_logic(i: Instruction) -> Step:
    """Two results of three predicates, each by its table."""
    first, second = (put_predicate(each) for each in i.operands[:2])
    a, b, third = (predicate(each) for each in i.operands[2:5])
    tables = [each.bits for each in i.operands[5:7] if isinstance(each, Immediate)]
    guard = guard_of(i)

    def work(c: Context) -> None:
        active = guard(c)
        index = 4 * a(c).astype(np.uint8) + 2 * b(c).astype(np.uint8) + third(c)
        for result, table in zip((first, second), tables, strict=True):
            result(c, (np.uint8(table) >> index & 1).astype(np.bool_), active)

    return work


@operation("SEL", "USEL", "FSEL", modifiers="64")
def _select(i: Instruction) -> Step:
    if i.has("64"):
        a, b, write = wide_whole(i.operands[1]), wide_whole(i.operands[2]), put_wide(i.operands[0])
    else:
        read = single if i.opcode == "FSEL" else whole
        a, b, write = read(i.operands[1]), read(i.operands[2]), put(i.operands[0])
    which, guard = predicate(i.operands[3]), guard_of(i)
    return lambda c: write(c, np.where(which(c), a(c), b(c)), guard(c))


def _limits(i: Instruction) -> Callable[[Context], Array]:
    """Whether the smaller one is wanted: the last predicate, or the one before for 64 bits."""
    flags = [each for each in i.operands if isinstance(each, Predicate)]
    if i.has("U64", "S64"):
        *_, which, last = flags
        if last != Predicate(TRUE, negated=True):
            raise NotKnownError(i)
        return predicate(which)
    return predicate(flags[-1])


@operation(
    "VIMNMX", "IMNMX", "UVIMNMX", "UIMNMX", modifiers="U32 S32 U64 S64 RELU S16x2 U16x2 S8x4 U8x4"
)
def _smaller_or_larger(i: Instruction) -> Step:
    """Predicates that are written say which one it was; nobody has asked for them so far."""
    smaller, guard = _limits(i), guard_of(i)
    place = next(n for n, each in enumerate(i.operands) if not isinstance(each, Predicate))
    rest = [each for each in i.operands[place + 1 :] if not isinstance(each, Predicate)]
    written = [each for each in i.operands if isinstance(each, Predicate)][: -2 if place else -1]
    if any(isinstance(each, Predicate) and not _always(each) for each in written):
        raise NotKnownError(i)
    packed = packed_kind(i)
    if packed is not None:
        return _packed_smaller_or_larger(i, rest, smaller, packed)
    a, b = (_read(i, each) for each in rest)
    result = put_wide(i.operands[place]) if i.has("U64", "S64") else put(i.operands[place])
    relu = i.has("RELU")

    def work(c: Context) -> None:
        x, y = a(c), b(c)
        value = np.where(smaller(c), np.minimum(x, y), np.maximum(x, y))
        result(c, np.maximum(value, 0) if relu else value, guard(c))

    return work


def _packed_smaller_or_larger(
    i: Instruction, sources: Sequence[Operand], smaller: Read, kind: np.dtype[np.generic]
) -> Step:
    """Of two or four numbers in a register."""
    a, b = (whole(each) for each in sources)
    guard, result, relu = guard_of(i), put(i.operands[0]), i.has("RELU")

    def work(c: Context) -> None:
        x, y = (np.ascontiguousarray(c.every(each(c))).view(kind) for each in (a, b))
        which = np.repeat(c.every(smaller(c)), 4 // kind.itemsize, axis=1)
        value = np.where(which, np.minimum(x, y), np.maximum(x, y))
        value = np.maximum(value, kind.type(0)) if relu else value
        result(c, np.ascontiguousarray(value).view(np.uint32), guard(c))

    return work


@operation("VIMNMX3", "UVIMNMX3", modifiers="U32 S32 RELU")
def _smallest_or_largest(i: Instruction) -> Step:
    """Of three."""
    smaller, guard, result = _limits(i), guard_of(i), put(i.operands[0])
    a, b, third = (_read(i, each) for each in i.operands[1:4])
    relu = i.has("RELU")

    def work(c: Context) -> None:
        x, y, z = a(c), b(c), third(c)
        least, most = np.minimum(np.minimum(x, y), z), np.maximum(np.maximum(x, y), z)
        value = np.where(smaller(c), least, most)
        result(c, np.maximum(value, 0) if relu else value, guard(c))

    return work


@operation("VIADDMNMX", "UVIADDMNMX", modifiers="U32 S32 RELU")
def _sum_smaller_or_larger(i: Instruction) -> Step:
    kind = np.dtype(np.uint32 if i.has("U32") else np.int32)
    a, b, other = (whole(each) for each in i.operands[1:4])
    smaller = predicate(i.operands[4])
    guard, result = guard_of(i), put(i.operands[0])
    relu = i.has("RELU")

    def work(c: Context) -> None:
        x, y = (a(c) + b(c)).view(kind), other(c).view(kind)
        value = np.where(smaller(c), np.minimum(x, y), np.maximum(x, y))
        result(c, np.maximum(value, 0) if relu else value, guard(c))

    return work
