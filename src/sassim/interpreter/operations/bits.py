"""Bits of whole numbers: shifts, logic, counting, bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from sassim.interpreter.operand_access import (
    expect_count,
    immediate_bits,
    operand_at,
    pair,
    read_guard,
    read_predicate,
    read_u32,
    write_predicate,
    write_u32,
)
from sassim.interpreter.operations import operation
from sassim.sass.operands import ZERO, Immediate, Predicate, Register

if TYPE_CHECKING:
    from collections.abc import Callable

    from sassim.interpreter.context import ExecutionContext
    from sassim.interpreter.lanes import Array
    from sassim.interpreter.operations import Step
    from sassim.sass.listing import Instruction


@operation("SHF", "USHF", modifiers="L R U32 S32 U64 S64 HI W")
def _funnel_shift(i: Instruction) -> Step:
    """One half of a pair of registers that was shifted; NumPy shifts everything out as it does."""
    _, *sources = expect_count(
        i, [each for each in i.operands if not isinstance(each, Predicate)], 4
    )
    guard, result = read_guard(i), write_u32(i, 0)
    low, count, high = (read_u32(i, each) for each in sources)
    left, upper, wraps = i.has("L"), i.has("HI"), i.has("W")
    wide, is_signed = i.has("U64", "S64"), i.has("S32", "S64")
    if left != upper and not wraps and not wide:
        only = low if left else high
        if left:
            return lambda c: result(c, only(c) << count(c), guard(c))
        if is_signed:
            return lambda c: result(c, only(c).view(np.int32) >> count(c).view(np.int32), guard(c))
        return lambda c: result(c, only(c) >> count(c), guard(c))
    most = np.uint64(63 if wide else 31)

    def funnel(c: ExecutionContext) -> None:
        by = count(c).astype(np.uint64)
        if wraps:
            by = by & most
        elif not wide:
            by = np.minimum(by, 32)
        both = pair(low(c), high(c))
        if left:
            moved = both << by
        elif is_signed:
            moved = (both.view(np.int64) >> by.view(np.int64)).view(np.uint64)
        else:
            moved = both >> by
        result(c, (moved >> 32 if upper else moved).astype(np.uint32), guard(c))

    return funnel


_OF_TWO: Final[tuple[Callable[[Array, Array], Array], ...]] = (
    lambda a, b: np.zeros((1, 1), np.uint32) & a & b,
    lambda a, b: ~(a | b),
    lambda a, b: ~a & b,
    lambda a, b: ~a + (b & 0),
    lambda a, b: a & ~b,
    lambda a, b: ~b + (a & 0),
    lambda a, b: a ^ b,
    lambda a, b: ~(a & b),
    lambda a, b: a & b,
    lambda a, b: ~(a ^ b),
    lambda a, b: b + (a & 0),
    lambda a, b: ~a | b,
    lambda a, b: a + (b & 0),
    lambda a, b: a | ~b,
    lambda a, b: a | b,
    lambda a, b: ~(a & b & 0),
)
"""Logic of two inputs by its table: bit ``2 a + b`` is the result for a and b."""


def _combine_two(table: int, a: Array, b: Array) -> Array:
    if table == 3:
        return ~a
    if table == 12:
        return a
    if table == 5:
        return ~b
    if table == 10:
        return b
    if table in (0, 15):
        return np.full((1, 1), 0xFFFFFFFF if table else 0, np.uint32)
    return _OF_TWO[table](a, b)


def logic(table: int, a: Array, b: Array, c: Array) -> Array:
    """Logic of three inputs by its table: bit ``4 a + 2 b + c`` is the result."""
    zero = sum(((table >> (2 * bit)) & 1) << bit for bit in range(4))
    one = sum(((table >> (2 * bit + 1)) & 1) << bit for bit in range(4))
    if zero == one:
        return _combine_two(zero, a, b)
    if zero == 0:
        return c & _combine_two(one, a, b)
    return _combine_two(zero, a, b) ^ (c & _combine_two(zero ^ one, a, b))


@operation("LOP3", "ULOP3", modifiers="LUT PAND")
def _logic(i: Instruction) -> Step:
    flag = operand_at(i, 0)
    first = int(isinstance(flag, Predicate))
    set_flag = write_predicate(i, flag) if first else None
    target = operand_at(i, first)
    a, b, third = (read_u32(i, first + n) for n in range(1, 4))
    table = immediate_bits(i, first + 4)
    joined = read_predicate(i, first + 5) if len(i.operands) > first + 5 else None
    guard, result = read_guard(i), write_u32(i, target)
    forgotten, ands = isinstance(target, Register) and target.index == ZERO, i.has("PAND")

    def execute(c: ExecutionContext) -> None:
        value = logic(table, a(c), b(c), third(c))
        active = guard(c)
        if set_flag is not None:
            some = value != 0
            if joined is not None:
                some = some & joined(c) if ands else some | joined(c)
            set_flag(c, some, active)
        if not forgotten:
            result(c, value.copy(), active)

    return execute


@operation("PRMT", "UPRMT", modifiers="")
def _permute(i: Instruction) -> Step:
    """PTX ISA, "prmt": each byte is one of eight, or its sign in all bits."""
    a, selector, b = (read_u32(i, n) for n in range(1, 4))
    guard, result = read_guard(i), write_u32(i, 0)
    if isinstance(operand_at(i, 2), Immediate):
        chosen = [immediate_bits(i, 2) >> 4 * byte & 15 for byte in range(4)]

        def fixed(c: ExecutionContext) -> None:
            sources = (a(c), b(c))
            total: Array = np.zeros((1, 1), np.uint32)
            for byte, nibble in enumerate(chosen):
                value = sources[nibble >> 2 & 1] >> np.uint32(8 * (nibble & 3)) & np.uint32(255)
                if nibble & 8:
                    value = (value >> np.uint32(7)) * np.uint32(255)
                total = total | value << np.uint32(8 * byte)
            result(c, total, guard(c))

        return fixed

    def execute(c: ExecutionContext) -> None:
        by_lane, both = selector(c), pair(a(c), b(c))
        total: Array = np.zeros((1, 1), np.uint32)
        for byte in range(4):
            nibble = by_lane >> np.uint32(4 * byte) & np.uint32(15)
            value = (both >> ((nibble & 7).astype(np.uint64) * 8) & 255).astype(np.uint32)
            value = np.where(nibble & 8, (value >> np.uint32(7)) * np.uint32(255), value)
            total = total | value << np.uint32(8 * byte)
        result(c, total, guard(c))

    return execute


@operation("BREV", "UBREV", modifiers="")
def _reverse(i: Instruction) -> Step:
    a, guard, result = read_u32(i, 1), read_guard(i), write_u32(i, 0)

    def execute(c: ExecutionContext) -> None:
        value = a(c)
        for mask, by in ((0x55555555, 1), (0x33333333, 2), (0x0F0F0F0F, 4), (0x00FF00FF, 8)):
            value = (value >> by & mask) | (value & mask) << by
        result(c, value >> 16 | value << 16, guard(c))

    return execute


@operation("POPC", "UPOPC", modifiers="")
def _population(i: Instruction) -> Step:
    a, guard, result = read_u32(i, 1), read_guard(i), write_u32(i, 0)
    return lambda c: result(c, np.bitwise_count(a(c)).astype(np.uint32), guard(c))


@operation("FLO", "UFLO", modifiers="U32 SH")
def _leading_one(i: Instruction) -> Step:
    """The place of the highest bit; of the highest that is not the sign, for signed numbers."""
    unsigned = i.has("U32")
    source = 2 if isinstance(operand_at(i, 1), Predicate) else 1
    a, guard, result = read_u32(i, source), read_guard(i), write_u32(i, 0)
    as_shift = i.has("SH")

    def execute(c: ExecutionContext) -> None:
        value = a(c)
        if not unsigned:
            value = np.where(value >> 31 == 1, ~value, value)
        place = np.frexp(value.astype(np.float64))[1] - 1
        place = np.where(value == 0, -1, 31 - place if as_shift else place)
        result(c, place.astype(np.int32), guard(c))

    return execute


@operation("SGXT", "USGXT", modifiers="U32")
def _extend_sign(i: Instruction) -> Step:
    a, width = read_u32(i, 1), read_u32(i, 2)
    unsigned = i.has("U32")
    guard, result = read_guard(i), write_u32(i, 0)

    def execute(c: ExecutionContext) -> None:
        unused = 32 - np.minimum(width(c) & 63, 32).astype(np.int64)
        moved = (a(c).astype(np.int64) << unused) & 0xFFFFFFFF
        moved = moved if unsigned else moved.astype(np.uint32).view(np.int32).astype(np.int64)
        result(c, (moved >> unused).astype(np.int64).astype(np.uint32), guard(c))

    return execute


@operation("BMSK", "UBMSK", modifiers="")
def _bit_mask(i: Instruction) -> Step:
    start, width = read_u32(i, 1), read_u32(i, 2)
    guard, result = read_guard(i), write_u32(i, 0)

    def execute(c: ExecutionContext) -> None:
        count = np.minimum(width(c), 32).astype(np.uint64)
        mask = ((np.uint64(1) << count) - np.uint64(1)) << np.minimum(start(c), 32)
        result(c, mask.astype(np.uint32), guard(c))

    return execute
