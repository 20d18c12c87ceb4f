"""Floating-point numbers of 32 and 64 bits.

Sums of products are rounded once, as on a GPU: division and square roots are code that works out
its own rounding error. What MUFU approximates is worked out exactly and rounded. Subnormal numbers
are kept where a GPU flushes them (``.FTZ``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from kernelprof.predict.machine.context import NotKnownError
from kernelprof.predict.machine.operations import operation
from kernelprof.predict.machine.operations.predicates import joined_by
from kernelprof.predict.machine.values import (
    bits,
    double,
    guard_of,
    halves,
    number,
    predicate,
    put,
    put_predicate,
    put_wide,
    single,
    whole,
)
from kernelprof.predict.sass.operands import TRUE, ZERO, Immediate, Predicate, Register

if TYPE_CHECKING:
    from collections.abc import Callable

    from kernelprof.predict.machine.arrays import Array
    from kernelprof.predict.machine.context import Context
    from kernelprof.predict.machine.operations import Step
    from kernelprof.predict.sass.listing import Instruction
    from kernelprof.predict.sass.operands import Operand

_DIRECTED: Final = {"RM": "down", "RP": "up", "RZ": "zero"}


def rounded(values: Array, i: Instruction) -> Array:
    """64-bit values rounded to 32 as an instruction says, and held within 0 and 1 if it says so."""
    near = values.astype(np.float32)
    direction = next((_DIRECTED[each] for each in i.modifiers if each in _DIRECTED), None)
    if direction is not None:
        near = _directed(near, values, direction)
    if i.has("SAT"):
        near = np.where(np.isnan(near), np.float32(0), np.clip(near, 0, 1)).astype(np.float32)
    return near


def _directed(near: Array, exact: Array, direction: str) -> Array:
    """The neighbour on the other side, where rounding to the nearest went the wrong way."""
    error = near.astype(np.float64) - exact
    down = np.nextafter(near, np.float32(-np.inf))
    up = np.nextafter(near, np.float32(np.inf))
    if direction == "down":
        return np.where(error > 0, down, near)
    if direction == "up":
        return np.where(error < 0, up, near)
    toward = np.where(exact > 0, down, up)
    return np.where(np.abs(near.astype(np.float64)) > np.abs(exact), toward, near)


@operation("FADD")
def _add(i: Instruction) -> Step:
    a, b = (single(each) for each in i.operands[1:3])
    guard, result = guard_of(i), put(i.operands[0])
    if not _plain(i):
        return lambda c: result(c, rounded(a(c).astype(np.float64) + b(c), i), guard(c))
    return lambda c: result(c, a(c) + b(c), guard(c))


@operation("FMUL")
def _multiply(i: Instruction) -> Step:
    a, b = (single(each) for each in i.operands[1:3])
    guard, result = guard_of(i), put(i.operands[0])
    if not _plain(i):
        return lambda c: result(c, rounded(a(c).astype(np.float64) * b(c), i), guard(c))
    return lambda c: result(c, a(c) * b(c), guard(c))


def _plain(i: Instruction) -> bool:
    """Whether it rounds to the nearest, and nothing else."""
    unknown = [each for each in i.modifiers if each not in ("FTZ", "SAT", *_DIRECTED)]
    if unknown:
        raise NotKnownError(i)
    return not i.has("SAT", *_DIRECTED)


@operation("FFMA")
def _multiply_add(i: Instruction) -> Step:
    a, b, addend = (single(each) for each in i.operands[1:4])
    guard, result = guard_of(i), put(i.operands[0])
    nearest = _plain(i)

    def work(c: Context) -> None:
        exact = np.multiply(a(c), b(c), dtype=np.float64)
        exact = exact + addend(c)
        result(c, exact.astype(np.float32) if nearest else rounded(exact, i), guard(c))

    return work


@operation("FMNMX")
def _smaller_or_larger(i: Instruction) -> Step:
    a, b, smaller = single(i.operands[1]), single(i.operands[2]), predicate(i.operands[3])
    guard, result = guard_of(i), put(i.operands[0])
    low, high = (np.minimum, np.maximum) if i.has("NAN") else (np.fmin, np.fmax)

    def work(c: Context) -> None:
        x, y = a(c), b(c)
        result(c, np.where(smaller(c), low(x, y), high(x, y)), guard(c))

    return work


_ORDERED: Final = {
    "LT": np.less,
    "LE": np.less_equal,
    "GT": np.greater,
    "GE": np.greater_equal,
    "EQ": np.equal,
}


def comparison(i: Instruction) -> Callable[[Array, Array], Array]:
    """How an instruction compares; names that end in U hold for NaN, too."""
    name = i.modifiers[0]
    if name in _ORDERED:
        return _ORDERED[name]
    if name == "NE":
        return lambda a, b: (a < b) | (a > b)
    if name == "NEU":
        return np.not_equal
    if name in ("NAN", "NUM"):
        wanted = name == "NAN"
        return lambda a, b: (np.isnan(a) | np.isnan(b)) == wanted
    if name.endswith("U") and name[:-1] in _ORDERED:
        ordered = _ORDERED[name[:-1]]
        return lambda a, b: ordered(a, b) | np.isnan(a) | np.isnan(b)
    raise NotKnownError(i)


@operation("FSETP", "DSETP")
def _compare(i: Instruction) -> Step:
    read = single if i.opcode == "FSETP" else double
    compare, join = comparison(i), joined_by(i)
    first, second = put_predicate(i.operands[0]), put_predicate(i.operands[1])
    twice = isinstance(i.operands[1], Predicate) and i.operands[1].index != TRUE
    a, b, other = read(i.operands[2]), read(i.operands[3]), predicate(i.operands[4])
    guard = guard_of(i)

    def work(c: Context) -> None:
        found, active = compare(a(c), b(c)), guard(c)
        joined = other(c)
        first(c, join(found, joined), active)
        if twice:
            second(c, join(~found, joined), active)

    return work


@operation("FSET")
def _compare_to_number(i: Instruction) -> Step:
    compare = comparison(
        type(i)(**{**_fields(i), "modifiers": tuple(e for e in i.modifiers if e != "BF")})
    )
    join = joined_by(i)
    a, b, other = single(i.operands[1]), single(i.operands[2]), predicate(i.operands[3])
    guard, result = guard_of(i), put(i.operands[0])
    as_float = i.has("BF")

    def work(c: Context) -> None:
        found = join(compare(a(c), b(c)), other(c))
        ones = np.float32(1.0).view(np.uint32) if as_float else np.uint32(0xFFFFFFFF)
        result(c, np.where(found, ones, np.uint32(0)), guard(c))

    return work


def _fields(i: Instruction) -> dict[str, object]:
    return {name: getattr(i, name) for name in i.__slots__}


@operation("FCHK")
def _division_is_hard(i: Instruction) -> Step:
    """Whether a quotient needs the long way: numbers near the ends of the range, and no numbers."""
    result, a, b = put_predicate(i.operands[0]), single(i.operands[1]), single(i.operands[2])
    guard = guard_of(i)

    def work(c: Context) -> None:
        x, y = (bits(each).astype(np.int32) >> 23 & 255 for each in (a(c), b(c)))
        hard = (y < 2) | (y > 252) | (x < 25) | (x > 253) | (x - y > 125) | (x - y < -125)
        zero = bits(a(c)) << 1 == 0
        result(c, hard & ~(zero & (y >= 2) & (y <= 252)), guard(c))

    return work


def _sine_of(turn: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """MUFU takes an angle in turns, as RRO left it."""
    return lambda x: turn(2 * np.pi * x)


_APPROXIMATED: Final[dict[str, Callable[[Array], Array]]] = {
    "RCP": lambda x: 1 / x,
    "RSQ": lambda x: 1 / np.sqrt(x),
    "SQRT": np.sqrt,
    "EX2": np.exp2,
    "LG2": np.log2,
    "SIN": _sine_of(np.sin),
    "COS": _sine_of(np.cos),
    "TANH": np.tanh,
}


def _upper_half(operand: Operand) -> Callable[[Context], Array]:
    """The upper 32 bits of a double; a number stands for itself, not for its bits."""
    if not isinstance(operand, Immediate):
        return whole(operand)
    value = np.full((1, 1), halves(np.float64(number(operand.text)))[1], np.uint32)
    return lambda _: value


@operation("MUFU")
def _approximate(i: Instruction) -> Step:
    name = i.modifiers[0]
    guard, result = guard_of(i), put(i.operands[0])
    if name in ("RCP64H", "RSQ64H"):
        high = _upper_half(i.operands[1])

        def upper(c: Context) -> None:
            x = (high(c).astype(np.uint64) << 32).view(np.float64)
            y = 1 / (x if name == "RCP64H" else np.sqrt(x))
            result(c, (y.view(np.uint64) >> 32).astype(np.uint32), guard(c))

        return upper
    if name not in _APPROXIMATED or len(i.modifiers) > 1:
        raise NotKnownError(i)
    function, a = _APPROXIMATED[name], single(i.operands[1])

    def work(c: Context) -> None:
        x = a(c).astype(np.float64)
        if name != "TANH":
            x = np.where(np.abs(x) < 2.0**-126, np.copysign(0.0, x), x)
        result(c, function(x).astype(np.float32), guard(c))

    return work


@operation("FSWZADD")
def _not_known(i: Instruction) -> Step:
    raise NotKnownError(i)


@operation("DADD")
def _add_doubles(i: Instruction) -> Step:
    sources = [each for each in i.operands[1:] if not _nothing(each)]
    terms = [double(each) for each in (sources if len(sources) > 1 else i.operands[1:])]
    a, b = terms[0], terms[-1]
    guard, result = guard_of(i), put_wide(i.operands[0])
    return lambda c: result(c, a(c) + b(c), guard(c))


def _nothing(operand: object) -> bool:
    return isinstance(operand, Register) and operand.index == ZERO


@operation("DMUL")
def _multiply_doubles(i: Instruction) -> Step:
    a, b = (double(each) for each in i.operands[1:3])
    guard, result = guard_of(i), put_wide(i.operands[0])

    def work(c: Context) -> None:
        x, y = a(c), b(c)
        product = x * y
        if i.has("RP", "RM", "RZ"):
            _, error = _exact_product(x, y)
            up, down = np.nextafter(product, np.inf), np.nextafter(product, -np.inf)
            wrong_up = i.has("RP") & (error > 0)
            wrong_down = i.has("RM") & (error < 0)
            product = np.where(wrong_up, up, np.where(wrong_down, down, product))
        result(c, product, guard(c))

    return work


@operation("DFMA")
def _multiply_add_doubles(i: Instruction) -> Step:
    a, b, addend = (double(each) for each in i.operands[1:4])
    guard, result = guard_of(i), put_wide(i.operands[0])
    return lambda c: result(c, fused(a(c), b(c), addend(c)), guard(c))


_SPLITTER: Final = 2.0**27 + 1


def _exact_product(x: Array, y: Array) -> tuple[Array, Array]:
    """A product and its rounding error (Dekker 1971, "A floating-point technique")."""
    product = x * y
    x_high, y_high = _upper(x), _upper(y)
    x_low, y_low = x - x_high, y - y_high
    error = ((x_high * y_high - product) + x_high * y_low + x_low * y_high) + x_low * y_low
    return product, error


def _upper(x: Array) -> Array:
    scaled = _SPLITTER * x
    return scaled - (scaled - x)


def fused(x: Array, y: Array, z: Array) -> Array:
    """``x * y + z`` rounded once, but for rare ties: product and sum with their errors."""
    product, error = _exact_product(x, y)
    total = product + z
    back = total - product
    lost = (product - (total - back)) + (z - back)
    better = total + (lost + error)
    return np.where(np.isfinite(better), better, total)


@operation("DMNMX")
def _smaller_or_larger_double(i: Instruction) -> Step:
    a, b, smaller = double(i.operands[1]), double(i.operands[2]), predicate(i.operands[3])
    guard, result = guard_of(i), put_wide(i.operands[0])

    def work(c: Context) -> None:
        x, y = a(c), b(c)
        result(c, np.where(smaller(c), np.fmin(x, y), np.fmax(x, y)), guard(c))

    return work
