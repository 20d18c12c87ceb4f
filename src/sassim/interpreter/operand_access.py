"""Decode operands of instructions into functions that read and write them for a context.

An operand is looked at once, not every time. Each function takes the operand itself or its place
among those of the instruction, and raises :class:`NotKnownError` for one of another type, or none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from sassim.interpreter.context import NotKnownError
from sassim.interpreter.lanes import ALWAYS, NEVER, NOTHING, make_read_only
from sassim.sass.operands import (
    TRUE,
    ZERO,
    Constant,
    Immediate,
    Predicate,
    Register,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from sassim.interpreter.context import ExecutionContext
    from sassim.interpreter.lanes import Array
    from sassim.sass.listing import Instruction
    from sassim.sass.operands import Operand

    Read = Callable[[ExecutionContext], Array]
    Write = Callable[[ExecutionContext, Array, Array | None], None]

U32, I32, F32 = np.dtype(np.uint32), np.dtype(np.int32), np.dtype(np.float32)
U64, F64 = np.dtype(np.uint64), np.dtype(np.float64)


def bits(values: Array) -> Array:
    """Values of 32 bits as registers hold them."""
    return values if values.dtype == U32 else values.view(U32)


def pair(low: Array, high: Array) -> Array:
    """64-bit numbers of two registers."""
    wide: Array = high.astype(np.uint64)
    wide <<= 32
    return wide | low


def halves(values: Array) -> tuple[Array, Array]:
    """The two registers that hold a 64-bit number."""
    wide = values.view(U64)
    return wide.astype(np.uint32), (wide >> 32).astype(np.uint32)


T = TypeVar("T")


def operand_at(i: Instruction, operand: int | Operand) -> Operand:
    """Return an operand by its place; one that is given is returned as it is."""
    if not isinstance(operand, int):
        return operand
    if not -len(i.operands) <= operand < len(i.operands):
        raise NotKnownError(i)
    return i.operands[operand]


def modifier_at(i: Instruction, place: int) -> str:
    """Return a modifier by its place."""
    if place >= len(i.modifiers):
        raise NotKnownError(i)
    return i.modifiers[place]


def operands_of_type(i: Instruction, kind: type[T], count: int) -> Sequence[T]:
    """Return all operands of a type, of which there have to be so many."""
    return expect_count(i, [each for each in i.operands if isinstance(each, kind)], count)


def only_operand(i: Instruction, kind: type[T]) -> T:
    """Return the one operand of a type."""
    return operands_of_type(i, kind, 1)[0]


def expect_count(i: Instruction, operands: Sequence[T], count: int) -> Sequence[T]:
    """Return operands, of which there have to be so many."""
    if len(operands) != count:
        raise NotKnownError(i)
    return operands


def only_modifier(i: Instruction, meanings: Mapping[str, T]) -> T:
    """Return what the first modifier that has one of these meanings stands for."""
    for each in i.modifiers:
        if each in meanings:
            return meanings[each]
    raise NotKnownError(i)


def immediate_bits(i: Instruction, operand: int | Operand) -> int:
    """Return the 32 bits of a whole number in an instruction."""
    return whole_number(i, operand) & 0xFFFFFFFF


def whole_number(i: Instruction, operand: int | Operand) -> int:
    """Return a whole number in an instruction, with its sign."""
    operand = operand_at(i, operand)
    if not isinstance(operand, Immediate) or not operand.is_whole:
        raise NotKnownError(i)
    return int(operand.text, 0)


def read_guard(i: Instruction) -> Callable[[ExecutionContext], Array | None]:
    """The guard of an instruction, ``None`` where it has none."""
    if i.guard is None:
        return lambda _: None
    return read_predicate(i, i.guard)


def read_predicate(i: Instruction, operand: int | Operand) -> Read:
    """A predicate to read."""
    operand = operand_at(i, operand)
    if not isinstance(operand, Predicate):
        raise NotKnownError(i)
    index, negated = operand.index, operand.negated
    if index == TRUE:
        value = NEVER if negated else ALWAYS
        return lambda _: value
    if operand.uniform:
        return (lambda c: ~c.q[index]) if negated else (lambda c: c.q[index])
    return (lambda c: ~c.p[index]) if negated else (lambda c: c.p[index])


def write_predicate(i: Instruction, operand: int | Operand) -> Write:
    """A predicate to write, under a guard."""
    operand = operand_at(i, operand)
    if not isinstance(operand, Predicate):
        raise NotKnownError(i)
    index, uniform = operand.index, operand.uniform

    def put(c: ExecutionContext, value: Array, guard: Array | None) -> None:
        file = c.q if uniform else c.p
        file[index] = value if guard is None else np.where(guard, value, file[index])

    return _forget if index == TRUE else put


def _forget(c: ExecutionContext, value: Array, guard: Array | None) -> None:
    del c, value, guard


def read_u32(i: Instruction, operand: int | Operand) -> Read:
    """32 bits to read, as a whole number without sign."""
    operand = operand_at(i, operand)
    if isinstance(operand, Immediate):
        return _always(immediate_bits(i, operand), U32)
    if not isinstance(operand, Register | Constant) or operand.part not in ("", "64"):
        raise NotKnownError(i)
    read = _word(operand)
    if operand.absolute:
        inner = read
        read = lambda c: np.abs(inner(c).view(I32)).view(U32)  # noqa: E731
    if operand.negative:
        inner_n = read
        return lambda c: np.negative(inner_n(c))
    if operand.inverted:
        return lambda c: ~read(c)
    return read


def read_i32(i: Instruction, operand: int | Operand) -> Read:
    """32 bits to read, as a whole number with a sign."""
    read = read_u32(i, operand)
    return lambda c: read(c).view(I32)


def read_f32(i: Instruction, operand: int | Operand) -> Read:
    """32 bits to read, as a floating-point number."""
    operand = operand_at(i, operand)
    if isinstance(operand, Immediate):
        if operand.raw is None:
            return _always(number(operand.text), F32)
        plain = _always(operand.raw, U32)
        return lambda c: plain(c).view(F32)
    if not isinstance(operand, Register | Constant) or operand.part:
        raise NotKnownError(i)
    plain = _word(operand)
    return _signs(lambda c: plain(c).view(F32), operand)


def read_f64(i: Instruction, operand: int | Operand) -> Read:
    """64 bits to read, as a floating-point number."""
    operand = operand_at(i, operand)
    if isinstance(operand, Immediate):
        return _always(number(operand.text), F64)
    if not isinstance(operand, Register | Constant):
        raise NotKnownError(i)
    wide = _wide(operand)
    return _signs(lambda c: wide(c).view(F64), operand)


def read_u64(i: Instruction, operand: int | Operand) -> Read:
    """64 bits to read, as a whole number without sign."""
    operand = operand_at(i, operand)
    if isinstance(operand, Immediate):
        return _always(whole_number(i, operand) & (2**64 - 1), U64)
    if not isinstance(operand, Register | Constant):
        raise NotKnownError(i)
    wide = _wide(operand)
    if operand.negative:
        return lambda c: np.negative(wide(c))
    if operand.inverted:
        return lambda c: ~wide(c)
    return wide


def write_u32(i: Instruction, operand: int | Operand, offset: int = 0) -> Write:
    """A register to write, under a guard; ``offset`` names one of several in a row."""
    operand = operand_at(i, operand)
    if not isinstance(operand, Register):
        raise NotKnownError(i)
    uniform, index = operand.uniform, operand.index + offset

    def write(c: ExecutionContext, value: Array, guard: Array | None) -> None:
        file = c.u if uniform else c.r
        new = bits(value)
        file[index] = new if guard is None else np.where(guard, new, file[index])

    return _forget if operand.index == ZERO else write


def write_u64(i: Instruction, operand: int | Operand) -> Write:
    """Two registers in a row to write 64 bits to."""
    low, high = write_u32(i, operand), write_u32(i, operand, 1)

    def write(c: ExecutionContext, value: Array, guard: Array | None) -> None:
        first, second = halves(value)
        low(c, first, guard)
        high(c, second, guard)

    return write


def number(text: str) -> float:
    """A floating-point number as the disassembler prints it."""
    if "INF" in text:
        return -np.inf if text.startswith("-") else np.inf
    if "NAN" in text:
        return -np.nan if text.startswith("-") else np.nan
    return float(int(text, 16)) if "0x" in text else float(text)


def _signs(read: Callable[[ExecutionContext], Array], operand: Register | Constant) -> Read:
    if operand.absolute and operand.negative:
        return lambda c: -np.abs(read(c))
    if operand.absolute:
        return lambda c: np.abs(read(c))
    if operand.negative:
        return lambda c: -read(c)
    return read


def _always(value: float, kind: np.dtype[Any]) -> Read:
    same = make_read_only(np.full((1, 1), value, kind))
    return lambda _: same


def _word(operand: Register | Constant) -> Read:
    if isinstance(operand, Constant):
        bank, offset = operand.bank, operand.offset
        if operand.register is None:
            return lambda c: c.blocks.constants.word(bank, offset)
        at = _word(operand.register)
        return lambda c: c.blocks.constants.gather(bank, at(c).view(I32) + offset, 4)
    index = operand.index
    if index == ZERO:
        return lambda _: NOTHING
    if operand.uniform:
        return lambda c: c.u[index]
    return lambda c: c.r[index]


def _wide(operand: Register | Constant) -> Read:
    if isinstance(operand, Constant):
        bank, offset = operand.bank, operand.offset
        return lambda c: pair(
            c.blocks.constants.word(bank, offset), c.blocks.constants.word(bank, offset + 4)
        )
    index = operand.index
    if index == ZERO:
        return lambda _: NOTHING.astype(np.uint64)
    if operand.uniform:
        return lambda c: pair(c.u[index], c.u[index + 1])
    return lambda c: pair(c.r[index], c.r[index + 1])
