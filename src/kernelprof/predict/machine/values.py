"""Operands of instructions, to read and to write: an operand is looked at once, not every time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kernelprof.predict.machine.arrays import ALWAYS, NEVER, NOTHING, fixed
from kernelprof.sass.operands import (
    TRUE,
    ZERO,
    Constant,
    Immediate,
    Predicate,
    Register,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from kernelprof.predict.machine.arrays import Array
    from kernelprof.predict.machine.context import Context
    from kernelprof.predict.sass.listing import Instruction
    from kernelprof.sass.operands import Operand

    Read = Callable[[Context], Array]
    Write = Callable[[Context, Array, Array | None], None]

U32, I32, F32 = np.dtype(np.uint32), np.dtype(np.int32), np.dtype(np.float32)
U64, I64, F64 = np.dtype(np.uint64), np.dtype(np.int64), np.dtype(np.float64)


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


def guard_of(i: Instruction) -> Callable[[Context], Array | None]:
    """The guard of an instruction, ``None`` where it has none."""
    if i.guard is None:
        return lambda _: None
    return predicate(i.guard)


def predicate(operand: Operand) -> Callable[[Context], Array]:
    """A predicate to read."""
    if not isinstance(operand, Predicate):
        raise TypeError(operand)
    index, negated = operand.index, operand.negated
    if index == TRUE:
        value = NEVER if negated else ALWAYS
        return lambda _: value
    if operand.uniform:
        return (lambda c: ~c.q[index]) if negated else (lambda c: c.q[index])
    return (lambda c: ~c.p[index]) if negated else (lambda c: c.p[index])


def put_predicate(operand: Operand) -> Callable[[Context, Array, Array | None], None]:
    """A predicate to write, under a guard."""
    if not isinstance(operand, Predicate):
        raise TypeError(operand)
    index, uniform = operand.index, operand.uniform

    def forget(c: Context, value: Array, guard: Array | None) -> None:
        del c, value, guard

    def put(c: Context, value: Array, guard: Array | None) -> None:
        file = c.q if uniform else c.p
        file[index] = value if guard is None else np.where(guard, value, file[index])

    return forget if index == TRUE else put


def whole(operand: Operand) -> Callable[[Context], Array]:
    """32 bits to read, as a whole number without sign."""
    if isinstance(operand, Register):
        read = _register(operand)
    elif isinstance(operand, Immediate):
        value = fixed(np.full((1, 1), operand.bits, np.uint32))
        return lambda _: value
    elif isinstance(operand, Constant):
        read = _constant(operand)
    else:
        raise TypeError(operand)
    if operand.part not in ("", "64"):
        raise TypeError(operand)
    if operand.absolute:
        inner = read
        read = lambda c: np.abs(inner(c).view(I32)).view(U32)  # noqa: E731
    if operand.negative:
        inner_n = read
        return lambda c: np.negative(inner_n(c))
    if operand.inverted:
        return lambda c: ~read(c)
    return read


def signed(operand: Operand) -> Callable[[Context], Array]:
    """32 bits to read, as a whole number with a sign."""
    read = whole(operand)
    return lambda c: read(c).view(I32)


def single(operand: Operand) -> Callable[[Context], Array]:
    """32 bits to read, as a floating-point number."""
    if isinstance(operand, Immediate):
        value = fixed(np.full((1, 1), number(operand.text), np.float32))
        if operand.raw is not None:
            value = fixed(np.full((1, 1), operand.raw, np.uint32)).view(F32)
        return lambda _: value
    if isinstance(operand, Register):
        plain = _register(operand)
    elif isinstance(operand, Constant):
        plain = _constant(operand)
    else:
        raise TypeError(operand)
    if operand.part:
        raise TypeError(operand)
    return _signs(lambda c: plain(c).view(F32), operand)


def double(operand: Operand) -> Callable[[Context], Array]:
    """64 bits to read, as a floating-point number."""
    if isinstance(operand, Immediate):
        value = fixed(np.full((1, 1), number(operand.text), np.float64))
        return lambda _: value
    if not isinstance(operand, Register | Constant):
        raise TypeError(operand)
    wide = _wide(operand)
    return _signs(lambda c: wide(c).view(F64), operand)


def wide_whole(operand: Operand) -> Callable[[Context], Array]:
    """64 bits to read, as a whole number without sign."""
    if isinstance(operand, Immediate):
        value = fixed(np.full((1, 1), int(operand.text, 0) & (2**64 - 1), np.uint64))
        return lambda _: value
    if not isinstance(operand, Register | Constant):
        raise TypeError(operand)
    wide = _wide(operand)
    if operand.negative:
        return lambda c: np.negative(wide(c))
    if operand.inverted:
        return lambda c: ~wide(c)
    return wide


def put(operand: Operand, offset: int = 0) -> Callable[[Context, Array, Array | None], None]:
    """A register to write, under a guard; ``offset`` names one of several in a row."""
    if not isinstance(operand, Register):
        raise TypeError(operand)
    uniform, index = operand.uniform, operand.index + offset

    def forget(c: Context, value: Array, guard: Array | None) -> None:
        del c, value, guard

    def write(c: Context, value: Array, guard: Array | None) -> None:
        file = c.u if uniform else c.r
        new = bits(value)
        file[index] = new if guard is None else np.where(guard, new, file[index])

    return forget if operand.index == ZERO else write


def put_wide(operand: Operand) -> Callable[[Context, Array, Array | None], None]:
    """Two registers in a row to write 64 bits to."""
    low, high = put(operand), put(operand, 1)

    def write(c: Context, value: Array, guard: Array | None) -> None:
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


def _signs(
    read: Callable[[Context], Array], operand: Register | Constant
) -> Callable[[Context], Array]:
    if operand.absolute and operand.negative:
        return lambda c: -np.abs(read(c))
    if operand.absolute:
        return lambda c: np.abs(read(c))
    if operand.negative:
        return lambda c: -read(c)
    return read


def _register(operand: Register) -> Callable[[Context], Array]:
    index = operand.index
    if index == ZERO:
        return lambda _: NOTHING
    if operand.uniform:
        return lambda c: c.u[index]
    return lambda c: c.r[index]


def _constant(operand: Constant) -> Callable[[Context], Array]:
    bank, offset = operand.bank, operand.offset
    if operand.register is None:
        return lambda c: c.blocks.constants.word(bank, offset)
    at = _register(operand.register)
    return lambda c: c.blocks.constants.gather(bank, at(c).view(I32) + offset, 4)


def _wide(operand: Register | Constant) -> Callable[[Context], Array]:
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
