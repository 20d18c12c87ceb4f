"""Whole numbers: sums, products, shifts, logic."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Final

import numpy as np

from kernelprof.predict.machine.context import NotKnownError
from kernelprof.predict.machine.operations import operation
from kernelprof.predict.machine.values import (
    bits,
    guard_of,
    pair,
    predicate,
    put,
    put_predicate,
    put_wide,
    signed,
    whole,
    wide_whole,
)
from kernelprof.predict.sass.operands import TRUE, ZERO, Immediate, Predicate, Register

if TYPE_CHECKING:
    from collections.abc import Callable

    from kernelprof.predict.machine.arrays import Array
    from kernelprof.predict.machine.context import Context
    from kernelprof.predict.machine.operations import Step
    from kernelprof.predict.sass.listing import Instruction
    from kernelprof.predict.sass.operands import Operand


def _parted(i: Instruction, first: int = 1) -> tuple[list[Predicate], list[Operand], list[Operand]]:
    """Predicates that are written, sources, and predicates that are read, behind the result."""
    rest = list(i.operands[first:])
    written: list[Predicate] = []
    while rest and isinstance(rest[0], Predicate):
        written.append(rest[0])
        rest.pop(0)
    read = [each for each in rest if isinstance(each, Predicate)]
    sources = [each for each in rest if not isinstance(each, Predicate)]
    return written, sources, list(read)


def _is_zero(operand: Operand) -> bool:
    return isinstance(operand, Register) and operand.index == ZERO and not operand.inverted


@operation("IADD3", "UIADD3")
def _add_three(i: Instruction) -> Step:
    if i.has("64"):
        return _add_wide(i)
    written, sources, carries = _parted(i)
    guard, result = guard_of(i), put(i.operands[0])
    wanted = [each for each in written if each.index != TRUE]
    if not wanted:
        terms = [whole(each) for each in sources if not _is_zero(each)] or [whole(sources[0])]
        carried = [predicate(each) for each in carries if i.has("X") and not _never(each)]

        def add(c: Context) -> None:
            total = terms[0](c)
            for term in terms[1:]:
                total = total + term(c)
            for carry in carried:
                total = total + carry(c)
            result(c, total.copy() if len(terms) == 1 and not carried else total, guard(c))

        return add
    parts = [(whole(_plain(each)), _negative(each)) for each in sources if not _is_zero(each)]
    carried = [predicate(each) for each in carries if i.has("X") and not _never(each)]
    overflows = [put_predicate(each) for each in written]

    def add_carrying(c: Context) -> None:
        total = np.zeros((1, 1), np.uint64)
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


def _add_wide(i: Instruction) -> Step:
    """Sums of 64 bits."""
    _, sources, _ = _parted(i)
    terms = [wide_whole(each) for each in sources]
    guard, result = guard_of(i), put_wide(i.operands[0])
    return lambda c: result(c, reduce(np.add, [term(c) for term in terms]), guard(c))


def _never(operand: Operand) -> bool:
    return isinstance(operand, Predicate) and operand.index == TRUE and operand.negated


def _negative(operand: Operand) -> bool:
    return bool(getattr(operand, "negative", False))


def _plain(operand: Operand) -> Operand:
    """An operand without its sign."""
    from dataclasses import replace

    return replace(operand, negative=False) if isinstance(operand, Register) else operand


@operation("VIADD")
def _add(i: Instruction) -> Step:
    a, b = (whole(each) for each in i.operands[1:3])
    guard, result = guard_of(i), put(i.operands[0])
    return lambda c: result(c, a(c) + b(c), guard(c))


@operation("IMAD", "UIMAD")
def _multiply_add(i: Instruction) -> Step:
    written, sources, carries = _parted(i)
    if i.has("WIDE"):
        return _multiply_wide(i, written, sources, carries)
    guard, result = guard_of(i), put(i.operands[0])
    a_operand, b_operand, c_operand = sources
    if i.has("HI"):
        return _multiply_high(i, sources)
    carried = [predicate(each) for each in carries if i.has("X") and not _never(each)]
    addend = whole(c_operand)
    if _is_zero(a_operand) or _is_zero(b_operand):

        def move(c: Context) -> None:
            total = addend(c).copy()
            for carry in carried:
                total = total + carry(c)
            result(c, total, guard(c))

        return move
    a, b = whole(a_operand), whole(b_operand)
    one = isinstance(b_operand, Immediate) and b_operand.bits == 1
    alone = _is_zero(c_operand) and not carried

    def multiply(c: Context) -> None:
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
    i: Instruction, written: list[Predicate], sources: list[Operand], carries: list[Operand]
) -> Step:
    a_operand, b_operand, c_operand = sources
    guard, result = guard_of(i), put_wide(i.operands[0])
    product = _product(i, a_operand, b_operand)
    alone = _is_zero(c_operand)
    addend = wide_whole(c_operand)
    carried = [predicate(each) for each in carries if i.has("X") and not _never(each)]
    overflows = [put_predicate(each) for each in written if each.index != TRUE]

    def multiply(c: Context) -> None:
        value = product(c)
        total = value if alone else value + addend(c)
        over = total < value
        for carry in carried:
            before, total = total, total + carry(c)
            over = over | (total < before)
        active = guard(c)
        result(c, total, active)
        for overflow in overflows:
            overflow(c, over, active)

    return multiply


def _multiply_high(i: Instruction, sources: list[Operand]) -> Step:
    a_operand, b_operand, c_operand = sources
    guard, result = guard_of(i), put(i.operands[0])
    product, alone, addend = _product(i, a_operand, b_operand), _is_zero(c_operand), None
    addend = wide_whole(c_operand)

    def multiply(c: Context) -> None:
        total = product(c)
        total = total if alone else total + addend(c)
        result(c, (total >> 32).astype(np.uint32), guard(c))

    return multiply


def _product(i: Instruction, a_operand: Operand, b_operand: Operand) -> Callable[[Context], Array]:
    """The product of 64 bits, as a number without sign."""
    if i.has("U32"):
        a, b = whole(a_operand), whole(b_operand)
        return lambda c: a(c).astype(np.uint64) * b(c)
    x, y = signed(a_operand), signed(b_operand)
    return lambda c: (x(c).astype(np.int64) * y(c)).view(np.uint64)


@operation("LEA", "ULEA")
def _shifted_sum(i: Instruction) -> Step:
    written, sources, carries = _parted(i)
    guard, result = guard_of(i), put(i.operands[0])
    overflows = [put_predicate(each) for each in written if each.index != TRUE]
    carried = [predicate(each) for each in carries if i.has("X") and not _never(each)]
    shift = _shift(i, sources[-1])
    a, b = whole(sources[0]), whole(sources[1])
    if not i.has("HI"):

        def low(c: Context) -> None:
            moved = a(c) << shift
            addend = b(c)
            total = moved + addend
            active = guard(c)
            for overflow in overflows:
                overflow(c, total < addend, active)
            for carry in carried:
                total = total + carry(c)
            result(c, total, active)

        return low
    extended = i.has("SX32")
    top = None if extended else whole(sources[2])
    sign = signed(sources[0])

    def high(c: Context) -> None:
        if top is None:
            moved = (sign(c).astype(np.int64) << shift).view(np.uint64)
        else:
            moved = pair(a(c), top(c)) << shift
        total = (moved >> 32).astype(np.uint32)
        addend = b(c)
        total = total + addend
        active = guard(c)
        for overflow in overflows:
            overflow(c, total < addend, active)
        for carry in carried:
            total = total + carry(c)
        result(c, total, active)

    return high


def _shift(i: Instruction, operand: Operand) -> int:
    if not isinstance(operand, Immediate):
        raise NotKnownError(i)
    return operand.bits


@operation("SHF", "USHF")
def _funnel_shift(i: Instruction) -> Step:
    _, sources, _ = _parted(i)
    guard, result = guard_of(i), put(i.operands[0])
    low, count, high = whole(sources[0]), whole(sources[1]), whole(sources[2])
    left, upper, wraps = i.has("L"), i.has("HI"), i.has("W")
    wide, is_signed = i.has("U64", "S64"), i.has("S32", "S64")
    limit = 63 if wide else 32
    if left and not upper:
        only: Callable[[Context], Array] = low
    elif not left and upper:
        only = high
    else:
        only = None  # type: ignore[assignment]
    if only is not None and not wraps and not wide:
        kind = np.dtype(np.int32 if is_signed else np.uint32)

        def plain(c: Context) -> None:
            by = count(c)
            value = only(c).view(kind)
            if is_signed and not left:
                moved = value >> np.minimum(by, 31).astype(kind)
            else:
                moved = np.where(by < 32, (value << by if left else value >> by), 0)
                moved = moved.astype(kind, copy=False)
            result(c, bits(moved), guard(c))

        return plain

    def funnel(c: Context) -> None:
        by = count(c).astype(np.uint64)
        by = by & 31 if wraps else np.minimum(by, limit)
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

_ONE_INPUT: Final = {3: 0, 12: 0, 5: 1, 10: 1}


def _of_two(table: int, a: Array, b: Array) -> Array:
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
        return _of_two(zero, a, b)
    if zero == 0:
        return c & _of_two(one, a, b)
    return _of_two(zero, a, b) ^ (c & _of_two(zero ^ one, a, b))


@operation("LOP3", "ULOP3")
def _logic(i: Instruction) -> Step:
    operands = list(i.operands)
    flag = operands.pop(0) if isinstance(operands[0], Predicate) else None
    target, a_operand, b_operand, c_operand, table_operand = operands[:5]
    joined = predicate(operands[5]) if len(operands) > 5 else None
    table = _shift(i, table_operand)
    a, b, third = whole(a_operand), whole(b_operand), whole(c_operand)
    guard, result = guard_of(i), put(target)
    forgotten = isinstance(target, Register) and target.index == ZERO
    set_flag = None if flag is None else put_predicate(flag)

    def work(c: Context) -> None:
        value = logic(table, a(c), b(c), third(c))
        active = guard(c)
        if set_flag is not None:
            some = value != 0
            if joined is not None:
                some = some & joined(c) if i.has("PAND") else some | joined(c)
            set_flag(c, some, active)
        if not forgotten:
            result(c, value.copy(), active)

    return work


@operation("PLOP3", "UPLOP3")
def _predicate_logic(i: Instruction) -> Step:
    first, second = (put_predicate(each) for each in i.operands[:2])
    a, b, third = (predicate(each) for each in i.operands[2:5])
    tables = [_shift(i, each) for each in i.operands[5:7]]
    guard = guard_of(i)

    def work(c: Context) -> None:
        active = guard(c)
        index = 4 * a(c).astype(np.uint8) + 2 * b(c).astype(np.uint8) + third(c)
        for result, table in zip((first, second), tables, strict=True):
            result(c, (np.uint8(table) >> index & 1).astype(np.bool_), active)

    return work


_COMPARE: Final = {
    "LT": np.less,
    "LE": np.less_equal,
    "GT": np.greater,
    "GE": np.greater_equal,
    "EQ": np.equal,
    "NE": np.not_equal,
}
_STRICT: Final = {"LT": "LT", "LE": "LT", "GT": "GT", "GE": "GT"}

_JOIN: Final = {"AND": np.logical_and, "OR": np.logical_or, "XOR": np.logical_xor}


def joined_by(i: Instruction) -> Callable[[Array, Array], Array]:
    """How a comparison is joined with the predicate behind it."""
    for name, function in _JOIN.items():
        if i.has(name):
            return function
    raise NotKnownError(i)


@operation("ISETP", "UISETP")
def _compare(i: Instruction) -> Step:
    name = i.modifiers[0]
    if name not in _COMPARE:
        raise NotKnownError(i)
    read = whole if i.has("U32") else signed
    first, second = put_predicate(i.operands[0]), put_predicate(i.operands[1])
    twice = isinstance(i.operands[1], Predicate) and i.operands[1].index != TRUE
    a, b, with_predicate = read(i.operands[2]), read(i.operands[3]), predicate(i.operands[4])
    trivially = i.has("AND") and i.operands[4] == Predicate(TRUE, uniform=i.opcode[0] == "U")
    low = predicate(i.operands[5]) if i.has("EX") else None
    join, guard = joined_by(i), guard_of(i)
    compare = _COMPARE[name]

    def work(c: Context) -> None:
        x, y = a(c), b(c)
        if low is None:
            found = compare(x, y)
        elif name == "EQ":
            found = (x == y) & low(c)
        elif name == "NE":
            found = (x != y) | low(c)
        else:
            found = _COMPARE[_STRICT[name]](x, y) | ((x == y) & low(c))
        active = guard(c)
        other = None if trivially and not twice else with_predicate(c)
        first(c, found if other is None else join(found, other), active)
        if twice and other is not None:
            second(c, join(~found, other), active)

    return work


@operation("VIMNMX", "IMNMX", "UVIMNMX", "UIMNMX")
def _smaller_or_larger(i: Instruction) -> Step:
    read = whole if i.has("U32") else signed
    a, b, smaller = read(i.operands[1]), read(i.operands[2]), predicate(i.operands[3])
    guard, result = guard_of(i), put(i.operands[0])

    def work(c: Context) -> None:
        x, y = a(c), b(c)
        result(c, np.where(smaller(c), np.minimum(x, y), np.maximum(x, y)), guard(c))

    return work


@operation("VIADDMNMX")
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


@operation("IABS")
def _absolute(i: Instruction) -> Step:
    a, guard, result = signed(i.operands[1]), guard_of(i), put(i.operands[0])
    return lambda c: result(c, np.abs(a(c)), guard(c))


@operation("SEL", "USEL", "FSEL")
def _select(i: Instruction) -> Step:
    from kernelprof.predict.machine.values import single

    read = single if i.opcode == "FSEL" else whole
    a, b, which = read(i.operands[1]), read(i.operands[2]), predicate(i.operands[3])
    guard, result = guard_of(i), put(i.operands[0])
    return lambda c: result(c, np.where(which(c), a(c), b(c)), guard(c))


@operation("PRMT", "UPRMT")
def _permute(i: Instruction) -> Step:
    if i.modifiers:
        raise NotKnownError(i)
    a, selector, b = (whole(each) for each in i.operands[1:4])
    guard, result = guard_of(i), put(i.operands[0])

    def work(c: Context) -> None:
        chosen, both = selector(c), pair(a(c), b(c))
        total: Array = np.zeros((1, 1), np.uint32)
        for byte in range(4):
            nibble = (chosen >> (4 * byte)) & 15
            value = (both >> ((nibble & 7).astype(np.uint64) * 8) & 255).astype(np.uint32)
            value = np.where(nibble & 8, np.where(value & 128, 255, 0), value).astype(np.uint32)
            total = total | value << (8 * byte)
        result(c, total, guard(c))

    return work


@operation("BREV", "UBREV")
def _reverse(i: Instruction) -> Step:
    a, guard, result = whole(i.operands[1]), guard_of(i), put(i.operands[0])

    def work(c: Context) -> None:
        value = a(c)
        for mask, by in ((0x55555555, 1), (0x33333333, 2), (0x0F0F0F0F, 4), (0x00FF00FF, 8)):
            value = (value >> by & mask) | (value & mask) << by
        result(c, value >> 16 | value << 16, guard(c))

    return work


@operation("POPC", "UPOPC")
def _population(i: Instruction) -> Step:
    a, guard, result = whole(i.operands[1]), guard_of(i), put(i.operands[0])
    return lambda c: result(c, np.bitwise_count(a(c)).astype(np.uint32), guard(c))


@operation("FLO", "UFLO")
def _leading_one(i: Instruction) -> Step:
    """The place of the highest bit; of the highest that is not the sign, for signed numbers."""
    unsigned = i.has("U32")
    source = next(each for each in i.operands[1:] if not isinstance(each, Predicate))
    a, guard, result = whole(source), guard_of(i), put(i.operands[0])
    as_shift = i.has("SH")

    def work(c: Context) -> None:
        value = a(c)
        if not unsigned:
            value = np.where(value >> 31 == 1, ~value, value)
        place = np.frexp(value.astype(np.float64))[1] - 1
        place = np.where(value == 0, -1, 31 - place if as_shift else place)
        result(c, place.astype(np.int32), guard(c))

    return work


@operation("SGXT", "USGXT")
def _extend_sign(i: Instruction) -> Step:
    a, width = whole(i.operands[1]), whole(i.operands[2])
    unsigned = i.has("U32")
    guard, result = guard_of(i), put(i.operands[0])

    def work(c: Context) -> None:
        unused = 32 - np.minimum(width(c) & 63, 32).astype(np.int64)
        moved = (a(c).astype(np.int64) << unused) & 0xFFFFFFFF
        moved = moved if unsigned else moved.astype(np.uint32).view(np.int32).astype(np.int64)
        result(c, (moved >> unused).astype(np.int64).astype(np.uint32), guard(c))

    return work


@operation("BMSK", "UBMSK")
def _bit_mask(i: Instruction) -> Step:
    start, width = whole(i.operands[1]), whole(i.operands[2])
    guard, result = guard_of(i), put(i.operands[0])

    def work(c: Context) -> None:
        count = np.minimum(width(c), 32).astype(np.uint64)
        mask = ((np.uint64(1) << count) - np.uint64(1)) << np.minimum(start(c), 32)
        result(c, mask.astype(np.uint32), guard(c))

    return work


@operation("VABSDIFF4")
def _differences_of_bytes(i: Instruction) -> Step:
    if not i.has("ACC") or not i.has("U8"):
        raise NotKnownError(i)
    a, b, addend = (whole(each) for each in i.operands[1:4])
    guard, result = guard_of(i), put(i.operands[0])

    def work(c: Context) -> None:
        x, y, total = a(c), b(c), addend(c).astype(np.int64)
        for byte in range(0, 32, 8):
            left, right = (x >> byte & 255).astype(np.int64), (y >> byte & 255).astype(np.int64)
            total = total + np.abs(left - right)
        result(c, total.astype(np.uint32), guard(c))

    return work


@operation("IDP")
def _dot_of_bytes(i: Instruction) -> Step:
    if not i.has("4A"):
        raise NotKnownError(i)
    kinds = [each for each in i.modifiers if each in ("U8", "S8")]
    a, b, addend = (whole(each) for each in i.operands[1:4])
    guard, result = guard_of(i), put(i.operands[0])
    first, second = (np.dtype(np.int8 if kind == "S8" else np.uint8) for kind in kinds)

    def work(c: Context) -> None:
        x, y, total = a(c), b(c), addend(c).astype(np.int64)
        for byte in range(0, 32, 8):
            left = (x >> byte).astype(np.uint8).view(first).astype(np.int64)
            total = total + left * (y >> byte).astype(np.uint8).view(second)
        result(c, total.astype(np.uint32), guard(c))

    return work
