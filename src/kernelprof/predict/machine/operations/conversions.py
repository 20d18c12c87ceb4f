"""Numbers of one type made numbers of another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kernelprof.predict.machine.context import NotKnownError
from kernelprof.predict.machine.operations import operation
from kernelprof.predict.machine.operations.floating import rounded
from kernelprof.predict.machine.values import (
    double,
    guard_of,
    put,
    put_wide,
    single,
    whole,
    wide_whole,
)
from kernelprof.predict.sass.operands import Register

if TYPE_CHECKING:
    from collections.abc import Callable

    from kernelprof.predict.machine.arrays import Array
    from kernelprof.predict.machine.context import Context
    from kernelprof.predict.machine.operations import Step
    from kernelprof.predict.sass.listing import Instruction

_WHOLE: Final = ("U8", "S8", "U16", "S16", "U32", "S32", "U64", "S64")
_ROUNDING: Final[dict[str, Callable[[Array], Array]]] = {
    "TRUNC": np.trunc,
    "FLOOR": np.floor,
    "CEIL": np.ceil,
    "RN": np.rint,
}


def half(operand: object) -> Callable[[Context], Array]:
    """A number of 16 bits in a half of a register."""
    if not isinstance(operand, Register) or operand.part not in ("H0_H0", "H1_H1", "H0", "H1", ""):
        raise TypeError(operand)
    shift = 16 if operand.part.startswith("H1") else 0
    read = whole(Register(operand.index, operand.uniform))

    def taken(c: Context) -> Array:
        value = (read(c) >> shift).astype(np.uint16).view(np.float16)
        value = np.abs(value) if operand.absolute else value
        return -value if operand.negative else value

    return taken


@operation("I2FP", "UI2FP")
def _number_of_whole(i: Instruction) -> Step:
    a, guard, result = whole(i.operands[1]), guard_of(i), put(i.operands[0])
    kind: Any = np.uint32 if i.has("U32") else np.int32

    def work(c: Context) -> None:
        result(c, rounded(a(c).view(kind).astype(np.float64), i), guard(c))

    return work


@operation("I2F")
def _float_of_whole(i: Instruction) -> Step:
    source = i.operands[1]
    kind = next((each for each in i.modifiers if each in _WHOLE), "S32")
    bits, is_signed = int(kind[1:]), kind[0] == "S"
    guard = guard_of(i)
    read = _part_read(i, bits)
    number = np.dtype(f"{'int' if is_signed else 'uint'}{bits}")
    to_double, to_half = i.has("F64"), i.has("F16")
    result = put_wide(i.operands[0]) if to_double else put(i.operands[0])
    del source

    def work(c: Context) -> None:
        value = read(c).view(number)
        if to_double:
            new: Array = value.astype(np.float64)
        elif to_half:
            new = value.astype(np.float16).view(np.uint16).astype(np.uint32)
        elif bits == 64 and i.has("RP"):
            near = value.astype(np.float32)
            low = near.astype(np.float64).astype(number) < value
            new = np.where(low, np.nextafter(near, np.float32(np.inf)), near)
        elif bits == 64:
            new = value.astype(np.float32)
        else:
            new = rounded(value.astype(np.float64), i)
        result(c, new, guard(c))

    return work


def _part_read(i: Instruction, bits: int) -> Callable[[Context], Array]:
    source = i.operands[1]
    if bits == 64:
        return wide_whole(source)
    if bits == 32:
        return whole(source)
    shift = 0
    if isinstance(source, Register):
        if source.part.startswith("B"):
            shift = 8 * int(source.part[1])
        elif source.part.startswith("H1"):
            shift = 16
        source = Register(source.index, source.uniform)
    read, kind = whole(source), np.dtype(f"uint{bits}")
    return lambda c: (read(c) >> shift).astype(kind)


@operation("F2I", "F2IP")
def _whole_of_float(i: Instruction) -> Step:
    """Out of range becomes the nearest there is, NaN zero."""
    kind = next((each for each in i.modifiers if each in _WHOLE), "S32")
    bits, is_signed = int(kind[1:]), kind[0] == "S"
    how = next((_ROUNDING[each] for each in i.modifiers if each in _ROUNDING), np.rint)
    a: Callable[[Context], Array]
    if i.has("F64"):
        a = double(i.operands[1])
    elif i.has("F16"):
        a = half(i.operands[1])
    else:
        a = single(i.operands[1])
    low = -(2.0 ** (bits - 1)) if is_signed else 0.0
    high = 2.0 ** (bits - is_signed)
    number = np.dtype(f"{'int' if is_signed else 'uint'}{bits}")
    guard = guard_of(i)
    result = put_wide(i.operands[0]) if bits == 64 else put(i.operands[0])
    most = np.iinfo(number).max

    def work(c: Context) -> None:
        value = how(np.nan_to_num(a(c).astype(np.float64), nan=0.0, posinf=np.inf, neginf=-np.inf))
        fits = np.where((value >= high) | (value < low), 0.0, value).astype(number)
        new = np.where(value >= high, most, np.where(value < low, number.type(low), fits))
        new = new.astype(number)
        result(c, new if bits >= 32 else new.astype(np.int32), guard(c))

    return work


@operation("F2F")
def _float_of_float(i: Instruction) -> Step:
    to, source = i.modifiers[-2:] if len(i.modifiers) > 1 else ("", "")
    guard = guard_of(i)
    if (to, source) == ("F64", "F32"):
        a, wide = single(i.operands[1]), put_wide(i.operands[0])
        return lambda c: wide(c, a(c).astype(np.float64), guard(c))
    if (to, source) == ("F32", "F64"):
        b, narrow = double(i.operands[1]), put(i.operands[0])
        return lambda c: narrow(c, rounded(b(c), i), guard(c))
    if (to, source) == ("F16", "F32"):
        a, narrow = single(i.operands[1]), put(i.operands[0])
        return lambda c: narrow(
            c, a(c).astype(np.float16).view(np.uint16).astype(np.uint32), guard(c)
        )
    if (to, source) == ("F32", "F16"):
        h, narrow = half(i.operands[1]), put(i.operands[0])
        return lambda c: narrow(c, h(c).astype(np.float32), guard(c))
    raise NotKnownError(i)


@operation("FRND")
def _round(i: Instruction) -> Step:
    how = next((_ROUNDING[each] for each in i.modifiers if each in _ROUNDING), np.rint)
    guard = guard_of(i)
    if i.has("F64"):
        a, wide = double(i.operands[1]), put_wide(i.operands[0])
        return lambda c: wide(c, how(a(c)), guard(c))
    b, result = single(i.operands[1]), put(i.operands[0])
    return lambda c: result(c, how(b(c)).astype(np.float32), guard(c))


def bfloat(values: Array) -> Array:
    """32-bit numbers rounded to bfloat16, as 16 bits."""
    raw = values.astype(np.float32).view(np.uint32)
    even = (raw >> 16 & 1) + 0x7FFF
    return np.where(np.isnan(values), 0x7FFF, (raw + even) >> 16).astype(np.uint32)


def of_bfloat(raw: Array) -> Array:
    """The 32-bit numbers of 16 bits of bfloat16."""
    return (raw.astype(np.uint32) << 16).view(np.float32)


@operation("F2FP")
def _pack(i: Instruction) -> Step:
    """Two numbers of 32 bits become two of 16 in one register, the first the upper."""
    guard, result = guard_of(i), put(i.operands[0])
    if not i.has("PACK_AB") or not i.has("F32") or not i.has("F16", "BF16"):
        return _unpack(i)
    upper, lower = single(i.operands[1]), single(i.operands[2])
    relu, toward_zero = i.has("RELU"), i.has("RZ")
    if toward_zero:
        raise NotKnownError(i)

    def stored(values: Array) -> Array:
        values = np.maximum(values, np.float32(0)) if relu else values
        if i.has("BF16"):
            return bfloat(values)
        return values.astype(np.float16).view(np.uint16).astype(np.uint32)

    return lambda c: result(c, stored(upper(c)) << 16 | stored(lower(c)), guard(c))


def _unpack(i: Instruction) -> Step:
    """Two numbers of 8 bits become two of 16."""
    if not i.has("UNPACK_B") or not i.has("E4M3", "E5M2") or not i.has("F16"):
        raise NotKnownError(i)
    source = i.operands[1]
    shift = 16 if isinstance(source, Register) and source.part.startswith("H1") else 0
    a = whole(Register(source.index, source.uniform) if isinstance(source, Register) else source)
    guard, result = guard_of(i), put(i.operands[0])
    small = _SMALL["E4M3" if i.has("E4M3") else "E5M2"]

    def work(c: Context) -> None:
        raw = a(c) >> shift
        result(c, small[raw >> 8 & 255] << 16 | small[raw & 255], guard(c))

    return work


def _table(exponent_bits: int, mantissa_bits: int) -> Array:
    """All 256 numbers of a type of 8 bits (OCP 8-bit Floating Point Specification), in float16."""
    bias = 2 ** (exponent_bits - 1) - 1
    found = []
    for raw in range(256):
        exponent = raw >> mantissa_bits & (2**exponent_bits - 1)
        mantissa = raw & (2**mantissa_bits - 1)
        value = (mantissa / 2**mantissa_bits + (exponent > 0)) * 2.0 ** (max(exponent, 1) - bias)
        if exponent_bits == 4 and raw & 127 == 127:
            value = np.nan
        elif exponent_bits == 5 and exponent == 31:
            value = np.inf if mantissa == 0 else np.nan
        found.append(-value if raw & 128 else value)
    return np.array(found, np.float16).view(np.uint16).astype(np.uint32)


_SMALL: Final = {"E4M3": _table(4, 3), "E5M2": _table(5, 2)}
