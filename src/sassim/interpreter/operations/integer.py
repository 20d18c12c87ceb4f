"""Whole numbers: sums and products, of 32 and of 64 bits."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sassim.interpreter.context import NotKnownError
from sassim.interpreter.operand_access import (
    expect_count,
    immediate_bits,
    operand_at,
    pair,
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
from sassim.sass.operands import TRUE, ZERO, Constant, Immediate, Predicate, Register

if TYPE_CHECKING:
    from collections.abc import Callable

    from sassim.interpreter.context import ExecutionContext
    from sassim.interpreter.lanes import Array
    from sassim.interpreter.operand_access import Read, Write
    from sassim.interpreter.operations import Step
    from sassim.sass.listing import Instruction
    from sassim.sass.operands import Operand


def _split_operands(i: Instruction) -> tuple[list[Write], list[Operand], list[Read]]:
    """Carries that are written, sources, and carries that are read (``.X``), behind the result."""
    inputs = list(i.operands[1:])
    written = []
    while inputs and isinstance(inputs[0], Predicate):
        written.append(inputs.pop(0))
    sources: list[Operand] = [each for each in inputs if not isinstance(each, Predicate)]
    read = [each for each in inputs if isinstance(each, Predicate)] if i.has("X") else []
    overflows = [write_predicate(i, each) for each in written]
    if all(isinstance(each, Predicate) and each.index == TRUE for each in written):
        overflows = []
    return overflows, sources, [read_predicate(i, each) for each in read if not _is_false(each)]


def _is_false(operand: Operand) -> bool:
    return isinstance(operand, Predicate) and operand.index == TRUE and operand.negated


def _is_zero(operand: Operand) -> bool:
    return isinstance(operand, Register) and operand.index == ZERO and not operand.inverted


def _strip_sign(operand: Operand) -> tuple[Operand, bool]:
    """An operand without its sign, and whether it has one."""
    if isinstance(operand, Register | Constant) and operand.negative:
        return replace(operand, negative=False), True
    return operand, False


@operation("IADD", "UIADD", "IADD3", "UIADD3", modifiers="X 64")
def _add_some(i: Instruction) -> Step:
    """Sums of two or three; carries are as many as the sum has beyond 32 bits, one or two."""
    if i.has("64"):
        return _add_wide(i)
    overflows, sources, carried = _split_operands(i)
    guard, result = read_guard(i), write_u32(i, 0)
    if not sources:
        raise NotKnownError(i)
    if not overflows:
        terms = [read_u32(i, each) for each in sources if not _is_zero(each)] or [
            read_u32(i, sources[0])
        ]

        def add(c: ExecutionContext) -> None:
            total = terms[0](c)
            for term in terms[1:]:
                total = total + term(c)
            for carry in carried:
                total = total + carry(c)
            result(c, total.copy() if len(terms) == 1 and not carried else total, guard(c))

        return add
    unsigned = [_strip_sign(each) for each in sources if not _is_zero(each)]
    parts = [(read_u32(i, operand), negative) for operand, negative in unsigned]
    # Minus zero is a carry, too: a number is taken away by adding what it lacks to 2^32.
    constant = sum(_negative(each) for each in sources if _is_zero(each)) << 32

    def add_carrying(c: ExecutionContext) -> None:
        total: Array = np.full((1, 1), constant, np.uint64)
        for read, negative in parts:
            value = read(c).astype(np.uint64)
            total = total + ((value ^ 0xFFFFFFFF) + 1 if negative else value)
        for carry in carried:
            total = total + carry(c)
        active = guard(c)
        over = total >> 32
        result(c, total.astype(np.uint32), active)
        for least, overflow in enumerate(overflows, 1):
            overflow(c, over >= least, active)

    return add_carrying


def _negative(operand: Operand) -> bool:
    return bool(getattr(operand, "negative", False))


def _add_wide(i: Instruction) -> Step:
    """Sums of numbers of 64 bits, with a carry in and out."""
    overflows, sources, carried = _split_operands(i)
    parts = [(read_u64(i, operand), negative) for operand, negative in map(_strip_sign, sources)]
    guard, result = read_guard(i), write_u64(i, 0)

    def add(c: ExecutionContext) -> None:
        total: Array = np.zeros((1, 1), np.uint64)
        over: Array = np.zeros((1, 1), np.uint8)
        terms = [(~read(c) if negative else read(c)) for read, negative in parts]
        ones = [np.ones((1, 1), np.uint64) for _, negative in parts if negative]
        for term in (*terms, *ones, *(carry(c).astype(np.uint64) for carry in carried)):
            total = total + term
            over = over + (total < term)
        active = guard(c)
        result(c, total, active)
        for least, overflow in enumerate(overflows, 1):
            overflow(c, over >= least, active)

    return add


@operation("VIADD", "UVIADD", modifiers="S16x2 U16x2 S8x4 U8x4")
def _add(i: Instruction) -> Step:
    kind = packed_kind(i)
    if kind is not None:
        return _add_packed(i, kind)
    a, b = (read_u32(i, n) for n in range(1, 3))
    guard, result = read_guard(i), write_u32(i, 0)
    return lambda c: result(c, a(c) + b(c), guard(c))


def _add_packed(i: Instruction, kind: np.dtype[Any]) -> Step:
    operands = [_strip_sign(operand_at(i, n)) for n in range(1, 3)]
    terms = [(read_u32(i, operand), negative) for operand, negative in operands]
    guard, result = read_guard(i), write_u32(i, 0)

    def add(c: ExecutionContext) -> None:
        total: Array = np.zeros((1, 1), kind)
        for read, negative in terms:
            value = np.ascontiguousarray(c.broadcast(read(c))).view(kind)
            total = total - value if negative else total + value
        result(c, total.view(np.uint32), guard(c))

    return add


@operation("IMAD", "UIMAD", modifiers="WIDE HI X U32 MOV SHL SHR IADD")
def _multiply_add(i: Instruction) -> Step:
    overflows, sources, carried = _split_operands(i)
    if i.has("WIDE", "HI"):
        return _multiply_wide(i, overflows, sources, carried)
    if overflows:
        raise NotKnownError(i)
    guard, result = read_guard(i), write_u32(i, 0)
    a_operand, b_operand, c_operand = expect_count(i, sources, 3)
    addend = read_u32(i, c_operand)
    if _is_zero(a_operand) or _is_zero(b_operand):

        def move(c: ExecutionContext) -> None:
            total = addend(c).copy()
            for carry in carried:
                total = total + carry(c)
            result(c, total, guard(c))

        return move
    a, b = read_u32(i, a_operand), read_u32(i, b_operand)
    one = isinstance(b_operand, Immediate) and b_operand.bits == 1
    alone = _is_zero(c_operand) and not carried

    def multiply(c: ExecutionContext) -> None:
        total = a(c) if one else a(c) * b(c)
        if not alone:
            total = total + addend(c)
            for carry in carried:
                total = total + carry(c)
        elif one:
            total = total.copy()
        result(c, total, guard(c))

    return multiply


def _multiply_wide(
    i: Instruction, overflows: list[Write], sources: list[Operand], carried: list[Read]
) -> Step:
    """A product and 64 bits that are added to it: the whole sum, or its upper half (HI)."""
    high = not i.has("WIDE")
    guard, result = read_guard(i), write_u32(i, 0) if high else write_u64(i, 0)
    total_of = _multiply_add_wide(i, sources, carried)

    def multiply(c: ExecutionContext) -> None:
        total, over = total_of(c)
        active = guard(c)
        result(c, (total >> 32).astype(np.uint32) if high else total, active)
        for overflow in overflows:
            overflow(c, over, active)

    return multiply


def _multiply_add_wide(
    i: Instruction, sources: list[Operand], carried: list[Read]
) -> Callable[[ExecutionContext], tuple[Array, Array]]:
    """A product of 64 bits with what is added to it, and whether there was a carry."""
    a_operand, b_operand, c_operand = expect_count(i, sources, 3)
    product, addend = _multiply_wide_unsigned(i, a_operand, b_operand), read_u64(i, c_operand)
    alone = _is_zero(c_operand)

    def execute(c: ExecutionContext) -> tuple[Array, Array]:
        value = product(c)
        total = value if alone else value + addend(c)
        over = total < value
        for carry in carried:
            before, total = total, total + carry(c)
            over = over | (total < before)
        return total, over

    return execute


def _multiply_wide_unsigned(i: Instruction, a_operand: Operand, b_operand: Operand) -> Read:
    """The product of 64 bits, as a number without sign."""
    if i.has("U32"):
        a, b = read_u32(i, a_operand), read_u32(i, b_operand)
        return lambda c: a(c).astype(np.uint64) * b(c)
    x, y = read_i32(i, a_operand), read_i32(i, b_operand)
    return lambda c: (x(c).astype(np.int64) * y(c)).view(np.uint64)


@operation("LEA", "ULEA", modifiers="HI X SX32")
def _shifted_sum(i: Instruction) -> Step:
    overflows, sources, carried = _split_operands(i)
    guard, result = read_guard(i), write_u32(i, 0)
    reads_pair = i.has("HI") and not i.has("SX32")
    *_, last = expect_count(i, sources, 4 if reads_pair else 3)
    shift = immediate_bits(i, last)
    addend_of = read_u32(i, sources[1])
    moved_of = _shift_high(i, sources, shift) if i.has("HI") else _shifted(i, sources[0], shift)

    def execute(c: ExecutionContext) -> None:
        addend = addend_of(c)
        total = moved_of(c) + addend
        active = guard(c)
        over = total < addend if overflows else None
        for carry in carried:
            before, total = total, total + carry(c)
            over = None if over is None else over | (total < before)
        if over is not None:
            for overflow in overflows:
                overflow(c, over, active)
        result(c, total, active)

    return execute


def _shifted(i: Instruction, operand: Operand, shift: int) -> Read:
    a = read_u32(i, operand)
    by = np.uint32(shift)
    return lambda c: a(c) << by


def _shift_high(i: Instruction, sources: list[Operand], shift: int) -> Read:
    """The upper half of 64 bits that were shifted: two registers, or one with its sign."""
    by = np.uint64(shift)
    if i.has("SX32"):
        sign = read_i32(i, sources[0])
        return lambda c: ((sign(c).astype(np.int64) << by.view(np.int64)) >> 32).astype(np.uint32)
    a, top = read_u32(i, sources[0]), read_u32(i, sources[2])
    return lambda c: ((pair(a(c), top(c)) << by) >> 32).astype(np.uint32)


@operation("IABS", "UIABS", modifiers="")
def _absolute(i: Instruction) -> Step:
    a, guard, result = read_i32(i, 1), read_guard(i), write_u32(i, 0)
    return lambda c: result(c, np.abs(a(c)), guard(c))


@operation("VABSDIFF", modifiers="U32")
def _difference(i: Instruction) -> Step:
    kind = np.dtype(np.uint32 if i.has("U32") else np.int32)
    a, b, addend = (read_u32(i, n) for n in range(1, 4))
    guard, result = read_guard(i), write_u32(i, 0)

    def execute(c: ExecutionContext) -> None:
        x, y = (each(c).view(kind).astype(np.int64) for each in (a, b))
        result(c, (np.abs(x - y) + addend(c)).astype(np.uint32), guard(c))

    return execute


@operation("VABSDIFF4", modifiers="U8 ACC")
def _differences_of_bytes(i: Instruction) -> Step:
    if not i.has("ACC") or not i.has("U8"):
        raise NotKnownError(i)
    a, b, addend = (read_u32(i, n) for n in range(1, 4))
    guard, result = read_guard(i), write_u32(i, 0)

    def execute(c: ExecutionContext) -> None:
        x, y, total = a(c), b(c), addend(c).astype(np.int64)
        for byte in range(0, 32, 8):
            left, right = (x >> byte & 255).astype(np.int64), (y >> byte & 255).astype(np.int64)
            total = total + np.abs(left - right)
        result(c, total.astype(np.uint32), guard(c))

    return execute


@operation("IDP", "UIDP", modifiers="4A 2A LO HI U8 S8 U16 S16")
def _dot_product(i: Instruction) -> Step:
    """Four bytes by four bytes, or two numbers of 16 bits by the lower or upper two bytes."""
    kinds = [np.dtype(_NUMBERS[each]) for each in i.modifiers if each in _NUMBERS]
    if i.has("4A") == i.has("2A") or len(kinds) != 2:
        raise NotKnownError(i)
    first, second = kinds
    start = 2 if i.has("2A") and i.has("HI") else 0
    a, b, addend = (read_u32(i, n) for n in range(1, 4))
    guard, result = read_guard(i), write_u32(i, 0)

    def execute(c: ExecutionContext) -> None:
        x, y, total = a(c), b(c), addend(c).astype(np.int64)
        for n in range(4 if i.has("4A") else 2):
            left = (x >> np.uint32(8 * first.itemsize * n)).astype(f"u{first.itemsize}")
            right = (y >> np.uint32(8 * (start + n))).astype(np.uint8)
            total = total + left.view(first).astype(np.int64) * right.view(second)
        result(c, total.astype(np.uint32), guard(c))

    return execute


_NUMBERS = {"U8": np.uint8, "S8": np.int8, "U16": np.uint16, "S16": np.int16}
