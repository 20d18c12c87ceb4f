"""Floating-point numbers of 64 bits.

NumPy rounds sums and products as a GPU does. A sum with a product is rounded once there, and made
of sums and products here that know what they lose.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from sassim.interpreter.context import NotKnownError
from sassim.interpreter.operand_access import (
    read_f64,
    read_guard,
    read_predicate,
    write_predicate,
    write_u64,
)
from sassim.interpreter.operations import operation
from sassim.interpreter.operations.floating import COMPARISONS, compare_numbers
from sassim.interpreter.operations.predicates import joined_by
from sassim.interpreter.operations.rounding import DIRECTIONS, odd_sum
from sassim.sass.operands import ZERO, Register

if TYPE_CHECKING:
    from sassim.interpreter.context import ExecutionContext
    from sassim.interpreter.lanes import Array
    from sassim.interpreter.operations import Step
    from sassim.sass.listing import Instruction

_SPLITTER: Final = 2.0**27 + 1


def _split_digits(x: Array) -> tuple[Array, Array]:
    """The upper and the lower half of the digits (Veltkamp)."""
    scaled = _SPLITTER * x
    high = scaled - (scaled - x)
    return high, x - high


def _multiply_exactly(x: Array, y: Array) -> tuple[Array, Array]:
    """A product and its rounding error (Dekker 1971, "A floating-point technique")."""
    product = x * y
    (a, b), (d, e) = _split_digits(x), _split_digits(y)
    return product, ((a * d - product) + a * e + b * d) + b * e


def _add_exactly(x: Array, y: Array) -> tuple[Array, Array]:
    """A sum and its rounding error (Knuth, TwoSum)."""
    total = x + y
    back = total - x
    return total, (x - (total - back)) + (y - back)


def fused(x: Array, y: Array, z: Array) -> Array:
    """``x * y + z`` rounded once (Boldo and Melquiond 2008); what overflows on the way is not."""
    high, low = _multiply_exactly(x, y)
    upper, remainder = _add_exactly(z, low)
    total, more = _add_exactly(high, upper)
    better = total + odd_sum(remainder, more)
    simple = x * y + z
    return np.where(np.isfinite(better), better, simple)


def _round_directed(i: Instruction, near: Array, error: Array) -> Array:
    """The neighbour where rounding to the nearest went the wrong way; ``error`` is what is left."""
    if i.has("RP"):
        return np.where(error > 0, np.nextafter(near, np.inf), near)
    if i.has("RM"):
        return np.where(error < 0, np.nextafter(near, -np.inf), near)
    if i.has("RZ"):
        away = (error != 0) & ((error < 0) == (near > 0))
        return np.where(away, np.nextafter(near, 0.0), near)
    return near


@operation("DADD", modifiers=DIRECTIONS)
def _add(i: Instruction) -> Step:
    sources = list(i.operands[1:])
    if len(sources) == 3:
        # Before compute capability 8.0 the place of a factor is kept, and empty.
        sources = [each for each in sources if not _is_zero(each)] or sources[:2]
    if len(sources) != 2:
        raise NotKnownError(i)
    a, b = (read_f64(i, each) for each in sources)
    guard, result = read_guard(i), write_u64(i, 0)
    if not i.modifiers:
        return lambda c: result(c, a(c) + b(c), guard(c))
    return lambda c: result(c, _round_directed(i, *_add_exactly(a(c), b(c))), guard(c))


def _is_zero(operand: object) -> bool:
    return isinstance(operand, Register) and operand.index == ZERO


@operation("DMUL", modifiers=DIRECTIONS)
def _multiply(i: Instruction) -> Step:
    a, b = (read_f64(i, n) for n in range(1, 3))
    guard, result = read_guard(i), write_u64(i, 0)
    if not i.modifiers:
        return lambda c: result(c, a(c) * b(c), guard(c))
    return lambda c: result(c, _round_directed(i, *_multiply_exactly(a(c), b(c))), guard(c))


@operation("DFMA", modifiers=DIRECTIONS)
def _multiply_add(i: Instruction) -> Step:
    a, b, addend = (read_f64(i, n) for n in range(1, 4))
    guard, result = read_guard(i), write_u64(i, 0)
    if not i.modifiers:
        return lambda c: result(c, fused(a(c), b(c), addend(c)), guard(c))

    def execute(c: ExecutionContext) -> None:
        x, y, z = a(c), b(c), addend(c)
        near = fused(x, y, z)
        high, low = _multiply_exactly(x, y)
        error = ((high - near) + z) + low
        result(c, _round_directed(i, near, error), guard(c))

    return execute


@operation("DMNMX", modifiers="")
def _smaller_or_larger(i: Instruction) -> Step:
    a, b, smaller = read_f64(i, 1), read_f64(i, 2), read_predicate(i, 3)
    guard, result = read_guard(i), write_u64(i, 0)

    def execute(c: ExecutionContext) -> None:
        x, y = a(c), b(c)
        result(c, np.where(smaller(c), np.fmin(x, y), np.fmax(x, y)), guard(c))

    return execute


@operation("DSETP", modifiers=f"{COMPARISONS} AND OR XOR MIN MAX")
def _compare(i: Instruction) -> Step:
    if i.has("MIN", "MAX"):
        return _choose(i)
    return compare_numbers(i, [read_f64(i, n) for n in range(2, 4)])


def _choose(i: Instruction) -> Step:
    """Whether the first is the smaller or larger one, a number before none; whether none is one."""
    first, second = write_predicate(i, 0), write_predicate(i, 1)
    a, b = (read_f64(i, n) for n in range(2, 4))
    other, guard, join, least = read_predicate(i, 4), read_guard(i), joined_by(i), i.has("MIN")

    def execute(c: ExecutionContext) -> None:
        x, y, active, joined = a(c), b(c), guard(c), other(c)
        better = (x < y) if least else (x > y)
        signs = np.signbit(x) if least else ~np.signbit(x)
        chosen = better | ((x == y) & signs) | (np.isnan(y) & ~np.isnan(x))
        first(c, join(chosen, joined), active)
        second(c, join(np.isnan(x) & np.isnan(y), joined), active)

    return execute
