"""Predicates: comparisons of whole numbers, logic, and what they choose."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from sassim.interpreter.context import NotKnownError
from sassim.interpreter.operand_access import (
    expect_count,
    immediate_bits,
    modifier_at,
    operand_at,
    read_f32,
    read_guard,
    read_i32,
    read_predicate,
    read_u32,
    read_u64,
    write_predicate,
    write_u32,
    write_u64,
)
from sassim.interpreter.operations import operation
from sassim.interpreter.operations.packed import packed_kind
from sassim.sass.operands import TRUE, Predicate

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sassim.interpreter.context import ExecutionContext
    from sassim.interpreter.lanes import Array
    from sassim.interpreter.operand_access import Read
    from sassim.interpreter.operations import Step
    from sassim.sass.listing import Instruction
    from sassim.sass.operands import Operand

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


def _read_integer(i: Instruction, operand: int | Operand) -> Read:
    """A whole number with or without sign, of 32 or 64 bits."""
    if i.has("U64"):
        return read_u64(i, operand)
    if i.has("S64"):
        read = read_u64(i, operand)
        return lambda c: read(c).view(np.int64)
    return read_u32(i, operand) if i.has("U32") else read_i32(i, operand)


@operation("ISETP", "UISETP", modifiers="LT LE GT GE EQ NE T F AND OR XOR U32 U64 S64 EX")
def _compare(i: Instruction) -> Step:
    """With EX the upper halves are compared, and a predicate says what the lower ones gave."""
    name = modifier_at(i, 0)
    if name not in (_STRICT.keys() | {"EQ", "NE"} if i.has("EX") else _COMPARE):
        raise NotKnownError(i)
    first, second = write_predicate(i, 0), write_predicate(i, 1)
    twice = operand_at(i, 1) not in (Predicate(TRUE), Predicate(TRUE, uniform=True))
    a, b = _read_integer(i, 2), _read_integer(i, 3)
    joined = operand_at(i, 4)
    trivially = i.has("AND") and isinstance(joined, Predicate) and _always(joined)
    other, low = read_predicate(i, joined), read_predicate(i, 5) if i.has("EX") else None
    join, guard, compare = joined_by(i), read_guard(i), _COMPARE[name]

    def execute(c: ExecutionContext) -> None:
        x, y = a(c), b(c)
        if low is None:
            result = compare(x, y)
        elif name == "EQ":
            result = (x == y) & low(c)
        elif name == "NE":
            result = (x != y) | low(c)
        else:
            result = _STRICT[name](x, y) | ((x == y) & low(c))
        active = guard(c)
        if trivially:
            first(c, result, active)
            if twice:
                second(c, ~result, active)
            return
        with_what = other(c)
        first(c, join(result, with_what), active)
        if twice:
            second(c, join(~result, with_what), active)

    return execute


def _always(operand: Predicate) -> bool:
    return operand.index == TRUE and not operand.negated


@operation("PLOP3", "UPLOP3", modifiers="LUT")
def _predicate_logic(i: Instruction) -> Step:
    """Two results of three predicates, each by its table."""
    first, second = (write_predicate(i, n) for n in range(2))
    a, b, third = (read_predicate(i, n) for n in range(2, 5))
    tables = [immediate_bits(i, n) for n in range(5, 7)]
    guard = read_guard(i)

    def execute(c: ExecutionContext) -> None:
        active = guard(c)
        index = 4 * a(c).astype(np.uint8) + 2 * b(c).astype(np.uint8) + third(c)
        for result, table in zip((first, second), tables, strict=True):
            result(c, (np.uint8(table) >> index & 1).astype(np.bool_), active)

    return execute


@operation("SEL", "USEL", "FSEL", modifiers="64")
def _select(i: Instruction) -> Step:
    if i.has("64"):
        a, b, write = read_u64(i, 1), read_u64(i, 2), write_u64(i, 0)
    else:
        read = read_f32 if i.opcode == "FSEL" else read_u32
        a, b, write = read(i, 1), read(i, 2), write_u32(i, 0)
    which, guard = read_predicate(i, 3), read_guard(i)
    return lambda c: write(c, np.where(which(c), a(c), b(c)), guard(c))


def _read_minimum_flag(i: Instruction) -> Callable[[ExecutionContext], Array]:
    """Whether the smaller one is wanted: the last predicate, or the one before for 64 bits."""
    flags = [each for each in i.operands if isinstance(each, Predicate)]
    if i.has("U64", "S64"):
        if len(flags) < 2:
            raise NotKnownError(i)
        *_, which, last = flags
        if last != Predicate(TRUE, negated=True):
            raise NotKnownError(i)
        return read_predicate(i, which)
    if not flags:
        raise NotKnownError(i)
    return read_predicate(i, flags[-1])


@operation(
    "VIMNMX", "IMNMX", "UVIMNMX", "UIMNMX", modifiers="U32 S32 U64 S64 RELU S16x2 U16x2 S8x4 U8x4"
)
def _smaller_or_larger(i: Instruction) -> Step:
    """Predicates that are written say which one it was; nobody has asked for them so far."""
    smaller, guard = _read_minimum_flag(i), read_guard(i)
    place = next((n for n, each in enumerate(i.operands) if not isinstance(each, Predicate)), 0)
    sources = [each for each in i.operands[place + 1 :] if not isinstance(each, Predicate)]
    expect_count(i, sources, 2)
    written = [each for each in i.operands if isinstance(each, Predicate)][: -2 if place else -1]
    if any(isinstance(each, Predicate) and not _always(each) for each in written):
        raise NotKnownError(i)
    packed = packed_kind(i)
    if packed is not None:
        return _packed_smaller_or_larger(i, sources, smaller, packed)
    a, b = (_read_integer(i, each) for each in sources)
    result = write_u64(i, place) if i.has("U64", "S64") else write_u32(i, place)
    relu = i.has("RELU")

    def execute(c: ExecutionContext) -> None:
        x, y = a(c), b(c)
        value = np.where(smaller(c), np.minimum(x, y), np.maximum(x, y))
        result(c, np.maximum(value, 0) if relu else value, guard(c))

    return execute


def _packed_smaller_or_larger(
    i: Instruction, sources: Sequence[Operand], smaller: Read, kind: np.dtype[np.generic]
) -> Step:
    a, b = (read_u32(i, each) for each in sources)
    guard, result, relu = read_guard(i), write_u32(i, 0), i.has("RELU")

    def execute(c: ExecutionContext) -> None:
        x, y = (np.ascontiguousarray(c.broadcast(each(c))).view(kind) for each in (a, b))
        which = np.repeat(c.broadcast(smaller(c)), 4 // kind.itemsize, axis=1)
        value = np.where(which, np.minimum(x, y), np.maximum(x, y))
        value = np.maximum(value, kind.type(0)) if relu else value
        result(c, np.ascontiguousarray(value).view(np.uint32), guard(c))

    return execute


@operation("VIMNMX3", "UVIMNMX3", modifiers="U32 S32 RELU")
def _smallest_or_largest(i: Instruction) -> Step:
    smaller, guard, result = _read_minimum_flag(i), read_guard(i), write_u32(i, 0)
    a, b, third = (_read_integer(i, n) for n in range(1, 4))
    relu = i.has("RELU")

    def execute(c: ExecutionContext) -> None:
        x, y, z = a(c), b(c), third(c)
        least, most = np.minimum(np.minimum(x, y), z), np.maximum(np.maximum(x, y), z)
        value = np.where(smaller(c), least, most)
        result(c, np.maximum(value, 0) if relu else value, guard(c))

    return execute


@operation("VIADDMNMX", "UVIADDMNMX", modifiers="U32 S32 RELU")
def _sum_smaller_or_larger(i: Instruction) -> Step:
    kind = np.dtype(np.uint32 if i.has("U32") else np.int32)
    a, b, other = (read_u32(i, n) for n in range(1, 4))
    smaller = read_predicate(i, 4)
    guard, result = read_guard(i), write_u32(i, 0)
    relu = i.has("RELU")

    def execute(c: ExecutionContext) -> None:
        x, y = (a(c) + b(c)).view(kind), other(c).view(kind)
        value = np.where(smaller(c), np.minimum(x, y), np.maximum(x, y))
        result(c, np.maximum(value, 0) if relu else value, guard(c))

    return execute
