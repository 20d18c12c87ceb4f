"""Floating-point numbers of 64 bits.

NumPy rounds sums and products as a GPU does. A sum with a product is rounded once there, and made
of sums and products here that know what they lose.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from kernelprof.predict.machine.context import NotKnownError
from kernelprof.predict.machine.operations import operation
from kernelprof.predict.machine.operations.floating import COMPARISONS, compare_numbers
from kernelprof.predict.machine.operations.predicates import joined_by
from kernelprof.predict.machine.operations.rounding import DIRECTIONS, odd_sum
from kernelprof.predict.machine.values import (
    double,
    guard_of,
    predicate,
    put_predicate,
    put_wide,
)
from kernelprof.sass.operands import ZERO, Register

if TYPE_CHECKING:
    from kernelprof.predict.machine.arrays import Array
    from kernelprof.predict.machine.context import Context
    from kernelprof.predict.machine.operations import Step
    from kernelprof.predict.sass.listing import Instruction

_SPLITTER: Final = 2.0**27 + 1


def _split(x: Array) -> tuple[Array, Array]:
    """The upper and the lower half of the digits (Veltkamp)."""
    scaled = _SPLITTER * x
    high = scaled - (scaled - x)
    return high, x - high


def _product(x: Array, y: Array) -> tuple[Array, Array]:
    """A product and its rounding error (Dekker 1971, "A floating-point technique")."""
    product = x * y
    (a, b), (d, e) = _split(x), _split(y)
    return product, ((a * d - product) + a * e + b * d) + b * e


def _sum(x: Array, y: Array) -> tuple[Array, Array]:
    """A sum and its rounding error (Knuth, TwoSum)."""
    total = x + y
    back = total - x
    return total, (x - (total - back)) + (y - back)


def fused(x: Array, y: Array, z: Array) -> Array:
    """``x * y + z`` rounded once (Boldo and Melquiond 2008); what overflows on the way is not."""
    high, low = _product(x, y)
    upper, rest = _sum(z, low)
    total, more = _sum(high, upper)
    better = total + odd_sum(rest, more)
    simple = x * y + z
    return np.where(np.isfinite(better), better, simple)


def _directed(i: Instruction, near: Array, error: Array) -> Array:
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
    a, b = (double(each) for each in sources)
    guard, result = guard_of(i), put_wide(i.operands[0])
    if not i.modifiers:
        return lambda c: result(c, a(c) + b(c), guard(c))
    return lambda c: result(c, _directed(i, *_sum(a(c), b(c))), guard(c))


def _is_zero(operand: object) -> bool:
    return isinstance(operand, Register) and operand.index == ZERO


@operation("DMUL", modifiers=DIRECTIONS)
def _multiply(i: Instruction) -> Step:
    a, b = (double(each) for each in i.operands[1:3])
    guard, result = guard_of(i), put_wide(i.operands[0])
    if not i.modifiers:
        return lambda c: result(c, a(c) * b(c), guard(c))
    return lambda c: result(c, _directed(i, *_product(a(c), b(c))), guard(c))


@operation("DFMA", modifiers=DIRECTIONS)
def _multiply_add(i: Instruction) -> Step:
    a, b, addend = (double(each) for each in i.operands[1:4])
    guard, result = guard_of(i), put_wide(i.operands[0])
    if not i.modifiers:
        return lambda c: result(c, fused(a(c), b(c), addend(c)), guard(c))

    def work(c: Context) -> None:
        x, y, z = a(c), b(c), addend(c)
        near = fused(x, y, z)
        high, low = _product(x, y)
        error = ((high - near) + z) + low
        result(c, _directed(i, near, error), guard(c))

    return work


@operation("DMNMX", modifiers="")
def _smaller_or_larger(i: Instruction) -> Step:
    a, b, smaller = double(i.operands[1]), double(i.operands[2]), predicate(i.operands[3])
    guard, result = guard_of(i), put_wide(i.operands[0])

    def work(c: Context) -> None:
        x, y = a(c), b(c)
        result(c, np.where(smaller(c), np.fmin(x, y), np.fmax(x, y)), guard(c))

    return work


@operation("DSETP", modifiers=f"{COMPARISONS} AND OR XOR MIN MAX")
def _compare(i: Instruction) -> Step:
    if i.has("MIN", "MAX"):
        return _choose(i)
    return compare_numbers(i, [double(each) for each in i.operands[2:4]])


def _choose(i: Instruction) -> Step:
    """Whether the first is the smaller or larger one, a number before none; whether none is one."""
    first, second = put_predicate(i.operands[0]), put_predicate(i.operands[1])
    a, b = (double(each) for each in i.operands[2:4])
    other, guard, join, least = predicate(i.operands[4]), guard_of(i), joined_by(i), i.has("MIN")

    def work(c: Context) -> None:
        x, y, active, joined = a(c), b(c), guard(c), other(c)
        better = (x < y) if least else (x > y)
        signs = np.signbit(x) if least else ~np.signbit(x)
        chosen = better | ((x == y) & signs) | (np.isnan(y) & ~np.isnan(x))
        first(c, join(chosen, joined), active)
        second(c, join(np.isnan(x) & np.isnan(y), joined), active)

    return work
