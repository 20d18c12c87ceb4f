"""Two numbers of 16 bits in each register: float16, or bfloat16 (``BF16_V2``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from sassim.interpreter.context import NotKnownError
from sassim.interpreter.lanes import make_read_only
from sassim.interpreter.number_formats import half_bits, of_bfloat, of_half, round_to_bfloat16
from sassim.interpreter.operand_access import (
    expect_count,
    number,
    read_guard,
    read_predicate,
    read_u32,
    write_predicate,
    write_u32,
)
from sassim.interpreter.operations import operation
from sassim.interpreter.operations.floating import COMPARISONS, comparison_function
from sassim.interpreter.operations.predicates import joined_by
from sassim.sass.operands import ZERO, Constant, Immediate, Predicate, Register

if TYPE_CHECKING:
    from collections.abc import Callable

    from sassim.interpreter.context import ExecutionContext
    from sassim.interpreter.lanes import Array
    from sassim.interpreter.operations import Step
    from sassim.sass.listing import Instruction
    from sassim.sass.operands import Operand

    Two = Callable[[ExecutionContext], tuple[Array, Array]]
    """Reads the lower and the upper number, in 32 bits."""


def _read_sources(i: Instruction, count: int, first: int = 1) -> list[Two]:
    """So many sources of an instruction; a number in it is written as two, the upper first."""
    values: list[Two] = []
    sources = [each for each in i.operands[first:] if not isinstance(each, Predicate)]
    while sources:
        each = sources.pop(0)
        if isinstance(each, Immediate):
            if not sources or not isinstance(sources[0], Immediate):
                raise NotKnownError(i)
            values.append(_pack_immediates(each, sources.pop(0)))
        else:
            values.append(_read_two(i, each))
    return list(expect_count(i, values[:count], count))


def _pack_immediates(upper: Immediate, lower: Operand) -> Two:
    low = number(lower.text) if isinstance(lower, Immediate) else 0.0
    values = tuple(np.full((1, 1), value, np.float32) for value in (low, number(upper.text)))
    return lambda _: (values[0], values[1])


def _read_two(i: Instruction, operand: Operand) -> Two:
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
    read, numbers = read_u32(i, plain), of_bfloat if _is_brain(i) else of_half
    negative, absolute = operand.negative, operand.absolute

    def values(c: ExecutionContext) -> tuple[Array, Array]:
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
    stored = round_to_bfloat16 if _is_brain(i) else half_bits
    return stored(high) << np.uint32(16) | stored(low)


_ARITHMETIC: Final = "MMA F32 BF16_V2 BF16 F16_V2 FTZ FMZ RELU SAT"


@operation("HFMA2", "HADD2", "HMUL2", modifiers=_ARITHMETIC)
def _arithmetic(i: Instruction) -> Step:
    """In 64 bits, where products are exact, and rounded; with F32 the lower one in 32 bits."""
    count = 3 if i.opcode == "HFMA2" else 2
    sources, guard, write = _read_sources(i, count), read_guard(i), write_u32(i, 0)
    work_out = _compute(i, sources)
    relu, saturates, wide = i.has("RELU"), i.has("SAT"), i.has("F32")

    def value(c: ExecutionContext) -> Array:
        numbers = work_out(c)
        if relu:
            numbers = [np.maximum(each, 0) for each in numbers]
        if saturates:
            numbers = [np.where(np.isnan(each), 0, np.clip(each, 0, 1)) for each in numbers]
        return numbers[0].astype(np.float32) if wide else _packed(i, *numbers)

    if not all(_is_fixed(each) for each in i.operands[1:]):
        return lambda c: write(c, value(c), guard(c))
    constants: list[Array] = []

    def always(c: ExecutionContext) -> None:
        # How compilers put a number into a register.
        if not constants:
            constants.append(make_read_only(value(c)))
        write(c, constants[0], guard(c))

    return always


def _is_fixed(operand: Operand) -> bool:
    return isinstance(operand, Immediate) or (
        isinstance(operand, Register) and operand.index == ZERO
    )


def _compute(i: Instruction, sources: list[Two]) -> Callable[[ExecutionContext], list[Array]]:
    """The lower and the upper result, in 64 bits."""
    if i.opcode == "HFMA2":
        a, b, addend = sources
        return lambda c: [
            np.multiply(x, y, dtype=np.float64) + z
            for x, y, z in zip(a(c), b(c), addend(c), strict=True)
        ]
    x, y = sources
    how = np.add if i.opcode == "HADD2" else np.multiply
    return lambda c: [
        how(one, other, dtype=np.float64) for one, other in zip(x(c), y(c), strict=True)
    ]


@operation("HMNMX2", modifiers="BF16_V2 BF16 F16_V2 FTZ NAN")
def _smaller_or_larger(i: Instruction) -> Step:
    a, b = _read_sources(i, 2)
    smaller = read_predicate(i, -1)
    write, guard = write_u32(i, 0), read_guard(i)
    low_of, high_of = (np.minimum, np.maximum) if i.has("NAN") else (np.fmin, np.fmax)

    def execute(c: ExecutionContext) -> None:
        which = smaller(c)
        low, high = (
            np.where(which, low_of(x, y), high_of(x, y)) for x, y in zip(a(c), b(c), strict=True)
        )
        write(c, _packed(i, low, high), guard(c))

    return execute


@operation("HSETP2", modifiers=f"{COMPARISONS} AND OR XOR BF16_V2 BF16 F16_V2 FTZ")
def _compare(i: Instruction) -> Step:
    """The first predicate is of the lower numbers, the second of the upper ones."""
    first, second = write_predicate(i, 0), write_predicate(i, 1)
    a, b = _read_sources(i, 2, first=2)
    other, guard = read_predicate(i, -1), read_guard(i)
    join, compare = joined_by(i), comparison_function(i)

    def execute(c: ExecutionContext) -> None:
        low, high = (compare(x, y) for x, y in zip(a(c), b(c), strict=True))
        active, joined = guard(c), other(c)
        first(c, join(low, joined), active)
        second(c, join(high, joined), active)

    return execute


@operation("HSET2", modifiers=f"{COMPARISONS} AND OR XOR BF BF16_V2 BF16 F16_V2 FTZ")
def _compare_to_numbers(i: Instruction) -> Step:
    """The results are numbers: one (``BF``), or all bits."""
    a, b = _read_sources(i, 2)
    other, guard, write = read_predicate(i, -1), read_guard(i), write_u32(i, 0)
    join, compare = joined_by(i), comparison_function(i)
    one = np.array([1.0])
    yes = (
        (round_to_bfloat16(one) if _is_brain(i) else half_bits(one))[0]
        if i.has("BF")
        else np.uint32(0xFFFF)
    )

    def execute(c: ExecutionContext) -> None:
        joined = other(c)
        low, high = (
            np.where(join(compare(x, y), joined), yes, np.uint32(0))
            for x, y in zip(a(c), b(c), strict=True)
        )
        write(c, high << np.uint32(16) | low, guard(c))

    return execute
