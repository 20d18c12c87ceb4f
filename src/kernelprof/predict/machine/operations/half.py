"""Two numbers of 16 bits in each register: float16, or bfloat16 (``BF16_V2``)."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from kernelprof.predict.machine.context import NotKnownError
from kernelprof.predict.machine.operations import operation
from kernelprof.predict.machine.operations.conversions import bfloat, of_bfloat
from kernelprof.predict.machine.operations.floating import comparison
from kernelprof.predict.machine.operations.predicates import joined_by
from kernelprof.predict.machine.values import guard_of, number, predicate, put, put_predicate, whole
from kernelprof.predict.sass.operands import Constant, Immediate, Predicate, Register

if TYPE_CHECKING:
    from collections.abc import Callable

    from kernelprof.predict.machine.arrays import Array
    from kernelprof.predict.machine.context import Context
    from kernelprof.predict.machine.operations import Step
    from kernelprof.predict.sass.listing import Instruction
    from kernelprof.predict.sass.operands import Operand

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
    read, brain = whole(plain), i.has("BF16_V2", "BF16")
    negative, absolute = operand.negative, operand.absolute

    def values(c: Context) -> tuple[Array, Array]:
        raw = read(c)
        if part == "F32":
            low = high = raw.view(np.float32)
        else:
            low, high = _numbers(raw & 0xFFFF, brain=brain), _numbers(raw >> 16, brain=brain)
        if part.startswith("H0"):
            high = low
        elif part in ("H1_H1", "H1"):
            low = high
        if absolute:
            low, high = np.abs(low), np.abs(high)
        return (-low, -high) if negative else (low, high)

    return values


def _numbers(raw: Array, *, brain: bool) -> Array:
    if brain:
        return of_bfloat(raw)
    return raw.astype(np.uint16).view(np.float16).astype(np.float32)


def _stored(values: Array, *, brain: bool) -> Array:
    if brain:
        return bfloat(values)
    return values.astype(np.float16).view(np.uint16).astype(np.uint32)


def _result(i: Instruction) -> Callable[[Context, Array, Array, Array | None], None]:
    """Write the lower and the upper number, or the lower in 32 bits."""
    write, brain = put(i.operands[0]), i.has("BF16_V2", "BF16")
    known = {"MMA", "F32", "BF16_V2", "BF16", "FTZ", "RELU", "SAT", "F16_V2", "FMZ"}
    if any(each not in known for each in i.modifiers):
        raise NotKnownError(i)

    def limited(values: Array) -> Array:
        if i.has("RELU"):
            values = np.maximum(values, 0)
        return np.clip(values, 0, 1) if i.has("SAT") else values

    def result(c: Context, low: Array, high: Array, guard: Array | None) -> None:
        if i.has("F32"):
            write(c, limited(low).astype(np.float32), guard)
            return
        upper, lower = (_stored(limited(each), brain=brain) for each in (high, low))
        write(c, upper << 16 | lower, guard)

    return result


@operation("HFMA2", "HADD2", "HMUL2")
def _arithmetic(i: Instruction) -> Step:
    sources, guard, result = _sources(i, i.operands[1:]), guard_of(i), _result(i)
    if i.opcode == "HFMA2":
        a, b, addend = sources[:3]

        def work(c: Context) -> None:
            pairs = zip(a(c), b(c), addend(c), strict=True)
            low, high = (np.multiply(x, y, dtype=np.float64) + z for x, y, z in pairs)
            result(c, low, high, guard(c))

        return work
    x, y = sources[:2]
    how = np.add if i.opcode == "HADD2" else np.multiply

    def both(c: Context) -> None:
        low, high = (
            how(one, other, dtype=np.float64) for one, other in zip(x(c), y(c), strict=True)
        )
        result(c, low, high, guard(c))

    return both


@operation("HMNMX2", "VHMNMX")
def _smaller_or_larger(i: Instruction) -> Step:
    if i.opcode != "HMNMX2":
        raise NotKnownError(i)
    a, b = _sources(i, i.operands[1:])[:2]
    smaller = predicate(i.operands[-1])
    write, guard = put(i.operands[0]), guard_of(i)
    low_of, high_of = (np.minimum, np.maximum) if i.has("NAN") else (np.fmin, np.fmax)
    stored = partial(_stored, brain=i.has("BF16_V2", "BF16"))

    def work(c: Context) -> None:
        which = smaller(c)
        low, high = (
            stored(np.where(which, low_of(x, y), high_of(x, y)))
            for x, y in zip(a(c), b(c), strict=True)
        )
        write(c, high << 16 | low, guard(c))

    return work


@operation("HSETP2")
def _compare(i: Instruction) -> Step:
    """The first predicate is of the lower numbers, the second of the upper ones."""
    named = [each for each in i.modifiers if each not in ("BF16_V2", "FTZ", "H0_AND")]
    if i.has("H0_AND"):
        raise NotKnownError(i)
    first, second = put_predicate(i.operands[0]), put_predicate(i.operands[1])
    a, b = _sources(i, i.operands[2:])[:2]
    other, guard, join = predicate(i.operands[-1]), guard_of(i), joined_by(i)
    del named
    compare = comparison(i) if not i.has("BF16_V2") else _later_comparison(i)

    def work(c: Context) -> None:
        low, high = (compare(x, y) for x, y in zip(a(c), b(c), strict=True))
        active, joined = guard(c), other(c)
        first(c, join(low, joined), active)
        second(c, join(high, joined), active)

    return work


def _later_comparison(i: Instruction) -> Callable[[Array, Array], Array]:
    """The comparison of an instruction that names its type first."""
    from dataclasses import replace

    return comparison(replace(i, modifiers=tuple(e for e in i.modifiers if e != "BF16_V2")))
