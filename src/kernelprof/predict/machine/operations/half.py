"""Two numbers of 16 bits in each register: float16, or bfloat16 (``BF16_V2``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from kernelprof.predict.machine.arrays import fixed
from kernelprof.predict.machine.context import NotKnownError
from kernelprof.predict.machine.numbers import bfloat, half_bits, of_bfloat, of_half
from kernelprof.predict.machine.operations import operation
from kernelprof.predict.machine.operations.floating import COMPARISONS, comparison
from kernelprof.predict.machine.operations.predicates import joined_by
from kernelprof.predict.machine.values import guard_of, number, predicate, put, put_predicate, whole
from kernelprof.sass.operands import ZERO, Constant, Immediate, Predicate, Register

if TYPE_CHECKING:
    from collections.abc import Callable

    from kernelprof.predict.machine.arrays import Array
    from kernelprof.predict.machine.context import Context
    from kernelprof.predict.machine.operations import Step
    from kernelprof.predict.sass.listing import Instruction
    from kernelprof.sass.operands import Operand

    Two = Callable[[Context], tuple[Array, Array]]
    """Reads the lower and the upper number, in 32 bits."""


def _sources(i: Instruction, operands: tuple[Operand, ...]) -> list[Two]:
    """The sources of an instruction; a number in it is written as two, the upper first."""
    found: list[Two] = []
    rest = [each for each in operands if not isinstance(each, Predicate)]
    while rest:
        each = rest.pop(0)
        if isinstance(each, Immediate):
            if not rest or not isinstance(rest[0], Immediate):
                raise NotKnownError(i)
            found.append(_fixed(each, rest.pop(0)))
        else:
            found.append(_two(i, each))
    return found


def _fixed(upper: Immediate, lower: Operand) -> Two:
    low = number(lower.text) if isinstance(lower, Immediate) else 0.0
    values = tuple(np.full((1, 1), value, np.float32) for value in (low, number(upper.text)))
    return lambda _: (values[0], values[1])


def _two(i: Instruction, operand: Operand) -> Two:
    if not isinstance(operand, Register | Constant):
        raise NotKnownError(i)
    part = operand.part
    if part not in ("", "H0_H0", "H1_H1", "H1_H0", "F32", "H0", "H1"):
        raise NotKnownError(i)
    plain = (
        Register(operand.index, operand.uniform)
        if isinstance(operand, Register)
        else Constant(operand.bank, operand.offset, operand.register)
    )
    read, numbers = whole(plain), of_bfloat if _is_brain(i) else of_half
    negative, absolute = operand.negative, operand.absolute

    def values(c: Context) -> tuple[Array, Array]:
        raw = read(c)
        if part == "F32":
            low = high = raw.view(np.float32)
        elif part.startswith("H0"):
            low = high = numbers(raw & np.uint32(0xFFFF))
        elif part in ("H1_H1", "H1"):
            low = high = numbers(raw >> np.uint32(16))
        else:
            low, high = numbers(raw & np.uint32(0xFFFF)), numbers(raw >> np.uint32(16))
        if absolute:
            low, high = np.abs(low), np.abs(high)
        return (-low, -high) if negative else (low, high)

    return values


def _is_brain(i: Instruction) -> bool:
    return i.has("BF16_V2", "BF16")


def _packed(i: Instruction, low: Array, high: Array) -> Array:
    """The lower and the upper number in one register."""
    stored = bfloat if _is_brain(i) else half_bits
    return stored(high) << np.uint32(16) | stored(low)


_ARITHMETIC: Final = "MMA F32 BF16_V2 BF16 F16_V2 FTZ FMZ RELU SAT"


@operation("HFMA2", "HADD2", "HMUL2", modifiers=_ARITHMETIC)
def _arithmetic(i: Instruction) -> Step:
    """In 64 bits, where products are exact, and rounded; with F32 the lower one in 32 bits."""
    sources, guard, write = _sources(i, i.operands[1:]), guard_of(i), put(i.operands[0])
    work_out = _worked_out(i, sources)
    relu, saturates, wide = i.has("RELU"), i.has("SAT"), i.has("F32")

    def value(c: Context) -> Array:
        found = work_out(c)
        if relu:
            found = [np.maximum(each, 0) for each in found]
        if saturates:
            found = [np.where(np.isnan(each), 0, np.clip(each, 0, 1)) for each in found]
        return found[0].astype(np.float32) if wide else _packed(i, *found)

    if not all(_is_fixed(each) for each in i.operands[1:]):
        return lambda c: write(c, value(c), guard(c))
    found: list[Array] = []

    def always(c: Context) -> None:
        # How compilers put a number into a register.
        if not found:
            found.append(fixed(value(c)))
        write(c, found[0], guard(c))

    return always


def _is_fixed(operand: Operand) -> bool:
    return isinstance(operand, Immediate) or (
        isinstance(operand, Register) and operand.index == ZERO
    )


def _worked_out(i: Instruction, sources: list[Two]) -> Callable[[Context], list[Array]]:
    """The lower and the upper result, in 64 bits."""
    if i.opcode == "HFMA2":
        a, b, addend = sources[:3]
        return lambda c: [
            np.multiply(x, y, dtype=np.float64) + z
            for x, y, z in zip(a(c), b(c), addend(c), strict=True)
        ]
    x, y = sources[:2]
    how = np.add if i.opcode == "HADD2" else np.multiply
    return lambda c: [
        how(one, other, dtype=np.float64) for one, other in zip(x(c), y(c), strict=True)
    ]


@operation("HMNMX2", modifiers="BF16_V2 BF16 F16_V2 FTZ NAN")
def _smaller_or_larger(i: Instruction) -> Step:
    a, b = _sources(i, i.operands[1:])[:2]
    smaller = predicate(i.operands[-1])
    write, guard = put(i.operands[0]), guard_of(i)
    low_of, high_of = (np.minimum, np.maximum) if i.has("NAN") else (np.fmin, np.fmax)

    def work(c: Context) -> None:
        which = smaller(c)
        low, high = (
            np.where(which, low_of(x, y), high_of(x, y)) for x, y in zip(a(c), b(c), strict=True)
        )
        write(c, _packed(i, low, high), guard(c))

    return work


@operation("HSETP2", modifiers=f"{COMPARISONS} AND OR XOR BF16_V2 BF16 F16_V2 FTZ")
def _compare(i: Instruction) -> Step:
    """The first predicate is of the lower numbers, the second of the upper ones."""
    first, second = put_predicate(i.operands[0]), put_predicate(i.operands[1])
    a, b = _sources(i, i.operands[2:])[:2]
    other, guard = predicate(i.operands[-1]), guard_of(i)
    join, compare = joined_by(i), comparison(i)

    def work(c: Context) -> None:
        low, high = (compare(x, y) for x, y in zip(a(c), b(c), strict=True))
        active, joined = guard(c), other(c)
        first(c, join(low, joined), active)
        second(c, join(high, joined), active)

    return work


@operation("HSET2", modifiers=f"{COMPARISONS} AND OR XOR BF BF16_V2 BF16 F16_V2 FTZ")
def _compare_to_numbers(i: Instruction) -> Step:
    """The results are numbers: one (``BF``), or all bits."""
    a, b = _sources(i, i.operands[1:])[:2]
    other, guard, write = predicate(i.operands[-1]), guard_of(i), put(i.operands[0])
    join, compare = joined_by(i), comparison(i)
    one = np.array([1.0])
    yes = (bfloat(one) if _is_brain(i) else half_bits(one))[0] if i.has("BF") else np.uint32(0xFFFF)

    def work(c: Context) -> None:
        joined = other(c)
        low, high = (
            np.where(join(compare(x, y), joined), yes, np.uint32(0))
            for x, y in zip(a(c), b(c), strict=True)
        )
        write(c, high << np.uint32(16) | low, guard(c))

    return work
