"""Floating-point numbers of 32 bits.

Sums of products are rounded once, as on a GPU: division and square roots are code that works out
its own rounding error. What MUFU approximates is worked out exactly and rounded.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

from sassim.interpreter.context import NotKnownError
from sassim.interpreter.number_formats import half_bits, of_half
from sassim.interpreter.operand_access import (
    F32,
    F64,
    bits,
    expect_count,
    only_modifier,
    operand_at,
    read_f32,
    read_f64,
    read_guard,
    read_predicate,
    read_u32,
    write_predicate,
    write_u32,
)
from sassim.interpreter.operations import operation
from sassim.interpreter.operations.predicates import joined_by
from sassim.interpreter.operations.rounding import (
    DIRECTIONS,
    flush_subnormals,
    is_directed,
    odd_sum,
    read_flushed,
    round_to_single,
)
from sassim.sass.operands import TRUE, Immediate, Predicate, Register

if TYPE_CHECKING:
    from collections.abc import Callable

    from sassim.interpreter.context import ExecutionContext
    from sassim.interpreter.lanes import Array
    from sassim.interpreter.operand_access import Read
    from sassim.interpreter.operations import Step
    from sassim.sass.listing import Instruction
    from sassim.sass.operands import Operand


def _read_singles(i: Instruction, *operands: int | Operand) -> list[Read]:
    """Numbers of 32 bits to read; with FTZ subnormal ones are zeros."""
    values = [read_f32(i, each) for each in operands]
    return [read_flushed(each) for each in values] if i.has("FTZ", "FMZ") else values


def _is_plain(i: Instruction) -> bool:
    """Whether it rounds to the nearest, and nothing else."""
    return not i.has("SAT", "FTZ") and not is_directed(i)


@operation("FADD", "UFADD", modifiers=f"FTZ SAT {DIRECTIONS}")
def _add(i: Instruction) -> Step:
    a, b = _read_singles(i, 1, 2)
    guard, result = read_guard(i), write_u32(i, 0)
    if not _is_plain(i):
        return lambda c: result(c, round_to_single(odd_sum(a(c).astype(F64), b(c)), i), guard(c))
    return lambda c: result(c, a(c) + b(c), guard(c))


_SCALES: Final = {"D2": 1 / 2, "D4": 1 / 4, "D8": 1 / 8, "M2": 2.0, "M4": 4.0, "M8": 8.0}
"""Of a product, which is rounded once."""


@operation("FMUL", "UFMUL", modifiers=f"FTZ SAT {DIRECTIONS} {' '.join(_SCALES)}")
def _multiply(i: Instruction) -> Step:
    a, b = _read_singles(i, 1, 2)
    guard, result = read_guard(i), write_u32(i, 0)
    scale = math.prod(_SCALES[each] for each in _SCALES if i.has(each))
    if not _is_plain(i) or scale != 1:
        return lambda c: result(c, round_to_single(a(c).astype(F64) * b(c) * scale, i), guard(c))
    return lambda c: result(c, a(c) * b(c), guard(c))


@operation("FFMA", "UFFMA", modifiers=f"FTZ SAT {DIRECTIONS}")
def _multiply_add(i: Instruction) -> Step:
    """The product is exact in 64 bits; that the sum is rounded twice shows once in 2^29."""
    a, b, addend = _read_singles(i, 1, 2, 3)
    guard, result = read_guard(i), write_u32(i, 0)
    if is_directed(i):
        return lambda c: result(
            c, round_to_single(odd_sum(np.multiply(a(c), b(c), dtype=F64), addend(c)), i), guard(c)
        )
    plain = _is_plain(i)

    def execute(c: ExecutionContext) -> None:
        exact = np.multiply(a(c), b(c), dtype=F64)
        exact = exact + addend(c)
        result(c, exact.astype(F32) if plain else round_to_single(exact, i), guard(c))

    return execute


@operation("FADD2", "FMUL2", "FFMA2", modifiers=f"FTZ {DIRECTIONS}")
def _two_at_once(i: Instruction) -> Step:
    """Of two numbers in two registers, or of one for both."""
    multiplies, adds = i.opcode != "FADD2", i.opcode != "FMUL2"
    sources = [_two(i, each) for each in expect_count(i, i.operands[1:], 1 + multiplies + adds)]
    guard, results = read_guard(i), [write_u32(i, 0, n) for n in range(2)]

    def execute(c: ExecutionContext) -> None:
        active = guard(c)
        for n, result in enumerate(results):
            numbers = [each[n](c).astype(F64) for each in sources]
            exact = numbers[0] * numbers[1] if multiplies else numbers[0]
            exact = odd_sum(exact, numbers[-1]) if adds else exact
            result(c, round_to_single(exact, i), active)

    return execute


def _two(i: Instruction, operand: Operand) -> list[Read]:
    """The two numbers of an operand: ``R4.F32x2.HI_LO`` has them in R4 and R5, ``R4.F32`` one."""
    if isinstance(operand, Immediate):
        return [read_f32(i, operand)] * 2
    if not isinstance(operand, Register):
        raise NotKnownError(i)
    steps = {"F32x2.HI_LO": (0, 1), "F32x2.LO_HI": (1, 0), "F32": (0, 0)}.get(operand.part)
    if steps is None:
        raise NotKnownError(i)
    sign = (operand.negative, operand.absolute)
    plain = [Register(operand.index + n, operand.uniform, *sign) for n in steps]
    return (
        _read_singles(i, *plain)
        if operand.index >= 0
        else [read_f32(i, Register(operand.index))] * 2
    )


@operation("FMNMX", "UFMNMX", modifiers="FTZ NAN")
def _smaller_or_larger(i: Instruction) -> Step:
    """A number before none, but for NAN."""
    (a, b), smaller = _read_singles(i, 1, 2), read_predicate(i, 3)
    guard, result = read_guard(i), write_u32(i, 0)
    low, high = (np.minimum, np.maximum) if i.has("NAN") else (np.fmin, np.fmax)

    def execute(c: ExecutionContext) -> None:
        x, y = a(c), b(c)
        result(c, np.where(smaller(c), low(x, y), high(x, y)), guard(c))

    return execute


@operation("FMNMX3", modifiers="FTZ NAN")
def _smallest_or_largest(i: Instruction) -> Step:
    (a, b, third), smaller = _read_singles(i, 1, 2, 3), read_predicate(i, 4)
    guard, result = read_guard(i), write_u32(i, 0)
    low, high = (np.minimum, np.maximum) if i.has("NAN") else (np.fmin, np.fmax)

    def execute(c: ExecutionContext) -> None:
        x, y, z = a(c), b(c), third(c)
        least, most = low(low(x, y), z), high(high(x, y), z)
        result(c, np.where(smaller(c), least, most), guard(c))

    return execute


_ORDERED: Final = {
    "LT": np.less,
    "LE": np.less_equal,
    "GT": np.greater,
    "GE": np.greater_equal,
    "EQ": np.equal,
}
COMPARISONS: Final = "LT LE GT GE EQ NE LTU LEU GTU GEU EQU NEU NAN NUM"
"""Modifiers that say how numbers are compared."""


def comparison_function(i: Instruction) -> Callable[[Array, Array], Array]:
    """How an instruction compares; names that end in U hold for NaN, too."""
    name = next((each for each in i.modifiers if each in COMPARISONS.split()), None)
    if name is None:
        raise NotKnownError(i)
    if name in _ORDERED:
        return _ORDERED[name]
    if name == "NE":
        return lambda a, b: (a < b) | (a > b)
    if name == "NEU":
        return np.not_equal
    if name in ("NAN", "NUM"):
        wanted = name == "NAN"
        return lambda a, b: (np.isnan(a) | np.isnan(b)) == wanted
    ordered = _ORDERED[name[:-1]]
    return lambda a, b: ordered(a, b) | np.isnan(a) | np.isnan(b)


@operation("FSETP", "UFSETP", modifiers=f"{COMPARISONS} AND OR XOR FTZ")
def _compare(i: Instruction) -> Step:
    return compare_numbers(i, _read_singles(i, 2, 3))


def compare_numbers(i: Instruction, sources: list[Read]) -> Step:
    """Compare two numbers, and join what comes of it with a predicate."""
    a, b = sources
    compare, join = comparison_function(i), joined_by(i)
    first, second = write_predicate(i, 0), write_predicate(i, 1)
    twice = operand_at(i, 1) not in (Predicate(TRUE), Predicate(TRUE, uniform=True))
    other, guard = read_predicate(i, 4), read_guard(i)

    def execute(c: ExecutionContext) -> None:
        result, active = compare(a(c), b(c)), guard(c)
        joined = other(c)
        first(c, join(result, joined), active)
        if twice:
            second(c, join(~result, joined), active)

    return execute


@operation("FSET", "DSET", modifiers=f"{COMPARISONS} AND OR XOR FTZ BF")
def _compare_to_number(i: Instruction) -> Step:
    """The result is a number: one (``BF``), or all bits."""
    compare, join = comparison_function(i), joined_by(i)
    if i.opcode == "FSET":
        a, b = _read_singles(i, 1, 2)
    else:
        a, b = (read_f64(i, n) for n in range(1, 3))
    other = read_predicate(i, 3)
    guard, result = read_guard(i), write_u32(i, 0)
    yes = np.float32(1.0).view(np.uint32) if i.has("BF") else np.uint32(0xFFFFFFFF)

    def execute(c: ExecutionContext) -> None:
        holds = join(compare(a(c), b(c)), other(c))
        result(c, np.where(holds, yes, np.uint32(0)), guard(c))

    return execute


@operation("FCHK", modifiers="")
def _division_is_hard(i: Instruction) -> Step:
    """Whether a quotient needs the long way: numbers near the ends of the range, and no numbers."""
    result, a, b = write_predicate(i, 0), read_f32(i, 1), read_f32(i, 2)
    guard = read_guard(i)

    def execute(c: ExecutionContext) -> None:
        x, y = (bits(each).astype(np.int32) >> 23 & 255 for each in (a(c), b(c)))
        hard = (y < 2) | (y > 252) | (x < 25) | (x > 253) | (x - y > 125) | (x - y < -125)
        zero = bits(a(c)) << 1 == 0
        result(c, hard & ~(zero & (y >= 2) & (y <= 252)), guard(c))

    return execute


def _of_revolutions(function: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """MUFU takes an angle in revolutions."""
    return lambda x: function(2 * np.pi * x)


_APPROXIMATED: Final[dict[str, Callable[[Array], Array]]] = {
    "RCP": lambda x: 1 / x,
    "RSQ": lambda x: 1 / np.sqrt(x),
    "SQRT": np.sqrt,
    "EX2": np.exp2,
    "LG2": np.log2,
    "SIN": _of_revolutions(np.sin),
    "COS": _of_revolutions(np.cos),
    "TANH": np.tanh,
}


@operation("MUFU", "UMUFU", modifiers=f"{' '.join(_APPROXIMATED)} RCP64H RSQ64H F16")
def _approximate(i: Instruction) -> Step:
    """All but TANH take subnormal numbers for zeros, and give zeros for them."""
    guard, result = read_guard(i), write_u32(i, 0)
    if i.has("RCP64H", "RSQ64H"):
        return _upper_half(i)
    function = only_modifier(i, _APPROXIMATED)
    if i.has("F16"):
        half = half_of(i, operand_at(i, 1))
        return lambda c: result(c, half_bits(function(half(c).astype(F64))), guard(c))
    a, keeps = read_f32(i, 1), i.has("TANH")

    def execute(c: ExecutionContext) -> None:
        x = a(c)
        y = function((x if keeps else flush_subnormals(x)).astype(F64)).astype(F32)
        result(c, y if keeps else flush_subnormals(y), guard(c))

    return execute


def half_of(i: Instruction, operand: Operand) -> Read:
    """A number of 16 bits in a half of a register, as one of 32."""
    if not isinstance(operand, Register) or operand.part not in ("H0_H0", "H1_H1", "H0", "H1", ""):
        raise NotKnownError(i)
    shift = np.uint32(16 if operand.part.startswith("H1") else 0)
    read = read_u32(i, Register(operand.index, operand.uniform))

    def select_half(c: ExecutionContext) -> Array:
        value = of_half(read(c) >> shift)
        value = np.abs(value) if operand.absolute else value
        return -value if operand.negative else value

    return select_half


def _upper_half(i: Instruction) -> Step:
    """The upper half of a number of 64 bits, from the upper half of another.

    A number in the instruction stands for all 64 bits; those of the lower half are zeros.
    """
    source, guard, result = operand_at(i, 1), read_guard(i), write_u32(i, 0)
    is_root = i.has("RSQ64H")
    if isinstance(source, Immediate):
        read = read_f64(i, source)
    else:
        high = read_f32(i, source)
        read = lambda c: (high(c).view(np.uint32).astype(np.uint64) << 32).view(F64)  # noqa: E731

    def execute(c: ExecutionContext) -> None:
        x = read(c)
        y = 1 / (np.sqrt(x) if is_root else x)
        result(c, (y.view(np.uint64) >> 32).astype(np.uint32), guard(c))

    return execute
