"""Numbers of one type made numbers of another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from sassim.interpreter.context import NotKnownError
from sassim.interpreter.number_formats import (
    SMALL,
    half_bits,
    of_bfloat,
    round_to_bfloat16,
    small_bits,
)
from sassim.interpreter.operand_access import (
    operand_at,
    read_f32,
    read_f64,
    read_guard,
    read_u32,
    read_u64,
    write_u32,
    write_u64,
)
from sassim.interpreter.operations import operation
from sassim.interpreter.operations.floating import half_of
from sassim.interpreter.operations.rounding import (
    DIRECTIONS,
    TO_WHOLE,
    correct_rounding,
    flush_subnormals,
    round_to_single,
    to_whole,
)
from sassim.sass.operands import Register

if TYPE_CHECKING:
    from collections.abc import Callable

    from sassim.interpreter.context import ExecutionContext
    from sassim.interpreter.lanes import Array
    from sassim.interpreter.operand_access import Read
    from sassim.interpreter.operations import Step
    from sassim.sass.listing import Instruction
    from sassim.sass.operands import Operand

_WHOLE: Final = ("U8", "S8", "U16", "S16", "U32", "S32", "U64", "S64")
_WHOLES: Final = " ".join(_WHOLE)
_ROUNDINGS: Final = " ".join(TO_WHOLE)


def _integer_type(i: Instruction) -> np.dtype[Any]:
    """The type of the whole number that an instruction takes or gives."""
    name = next((each for each in i.modifiers if each in _WHOLE), "S32")
    return np.dtype(f"{'int' if name[0] == 'S' else 'uint'}{name[1:]}")


def _round_to_half(values: Array, i: Instruction) -> Array:
    """64-bit values rounded to 16 as an instruction says, as 16 bits in 32."""
    near = values.astype(np.float16)
    if i.has("RZ"):
        near = correct_rounding(near, values, "zero")
    elif i.has("RM", "RP"):
        near = correct_rounding(near, values, "down" if i.has("RM") else "up")
    return near.view(np.uint16).astype(np.uint32)


def _round_to_bfloat(values: Array, i: Instruction) -> Array:
    """Values rounded to bfloat16, as 16 bits in 32: to the nearest, or by what is cut off."""
    if i.has("RM", "RP"):
        raise NotKnownError(i)
    if not i.has("RZ"):
        return round_to_bfloat16(values)
    exact = values.astype(np.float64)
    near = correct_rounding(exact.astype(np.float32), exact, "zero")
    return near.view(np.uint32) >> np.uint32(16)


@operation("I2FP", "UI2FP", modifiers=f"F32 S32 U32 {DIRECTIONS}")
def _number_of_whole(i: Instruction) -> Step:
    a, guard, result = read_u32(i, 1), read_guard(i), write_u32(i, 0)
    kind = np.dtype(np.uint32 if i.has("U32") else np.int32)

    def execute(c: ExecutionContext) -> None:
        result(c, round_to_single(a(c).view(kind).astype(np.float64), i), guard(c))

    return execute


@operation("I2F", "UI2F", modifiers=f"F16 BF16 F32 F64 {_WHOLES} {DIRECTIONS}")
def _float_of_whole(i: Instruction) -> Step:
    kind = _integer_type(i)
    guard, read = read_guard(i), _part_read(i, 8 * kind.itemsize)
    result = write_u64(i, 0) if i.has("F64") else write_u32(i, 0)
    directed = i.has(*DIRECTIONS.split())
    if i.has("F64") and kind.itemsize == 8 and directed:
        raise NotKnownError(i)

    def execute(c: ExecutionContext) -> None:
        value = read(c).view(kind)
        if i.has("F64"):
            new: Array = value.astype(np.float64)
        elif i.has("F16"):
            new = _round_to_half(value.astype(np.float64), i)
        elif i.has("BF16"):
            new = _round_to_bfloat(value.astype(np.float64), i)
        elif kind.itemsize < 8:
            new = round_to_single(value.astype(np.float64), i)
        else:
            new = _round_long(value, i) if directed else value.astype(np.float32)
        result(c, new, guard(c))

    return execute


def _round_long(value: Array, i: Instruction) -> Array:
    """Whole numbers of 64 bits rounded to 32 in a direction."""
    near = value.astype(np.float32)
    # The neighbours of what 64 bits hold are far enough apart to be compared as whole numbers.
    limit = np.float32(np.iinfo(value.dtype).max)
    back = np.where(near >= limit, np.float32(0), near).astype(value.dtype)
    more = (near >= limit) | (back > value)
    less = (near < limit) & (back < value)
    down = i.has("RM") | (i.has("RZ") & (value > 0))
    step = np.where(down, np.float32(-np.inf), np.float32(np.inf))
    return np.where(np.where(down, more, less), np.nextafter(near, step), near)


def _part_read(i: Instruction, bits: int) -> Read:
    source = operand_at(i, 1)
    if bits == 64:
        return read_u64(i, source)
    if bits == 32:
        return read_u32(i, source)
    shift = 0
    if isinstance(source, Register):
        if source.part.startswith("B"):
            shift = 8 * int(source.part[1])
        elif source.part.startswith("H1"):
            shift = 16
        source = Register(source.index, source.uniform)
    read, kind, by = read_u32(i, source), np.dtype(f"uint{bits}"), np.uint32(shift)
    return lambda c: (read(c) >> by).astype(kind)


@operation("F2I", "UF2I", modifiers=f"FTZ NTZ F16 BF16 F32 F64 {_WHOLES} {_ROUNDINGS}")
def _whole_of_float(i: Instruction) -> Step:
    """Out of range becomes the nearest there is; NaN zero, or all but the highest bit of 64."""
    number, how = _integer_type(i), to_whole(i)
    a = _read_number(i, operand_at(i, 1))
    info = np.iinfo(number)
    low, high = float(info.min), 2.0 ** (info.bits - (number.kind == "i"))
    guard = read_guard(i)
    result = write_u64(i, 0) if info.bits == 64 else write_u32(i, 0)
    nothing = info.min if info.bits == 64 and number.kind == "i" else 0
    nothing = 2**63 if info.bits == 64 and number.kind == "u" else nothing

    def execute(c: ExecutionContext) -> None:
        given = a(c).astype(np.float64)
        value = how(given)
        fits = np.where((value >= low) & (value < high), value, 0.0).astype(number)
        new = np.where(value >= high, number.type(info.max), fits)
        new = np.where(value < low, number.type(info.min), new)
        new = np.where(np.isnan(given), number.type(nothing), new)
        result(c, new if info.bits >= 32 else new.astype(np.int32), guard(c))

    return execute


def _read_number(i: Instruction, operand: Operand) -> Read:
    """A number of the type that an instruction takes: 64 bits, 16, or 32."""
    if i.has("F64"):
        return read_f64(i, operand)
    if i.has("F16"):
        return half_of(i, operand)
    if i.has("BF16"):
        return _read_bfloat(i, operand)
    read = read_f32(i, operand)
    return (lambda c: flush_subnormals(read(c))) if i.has("FTZ") else read


def _read_bfloat(i: Instruction, operand: Operand) -> Read:
    """A number of bfloat16 in a half of a register, as one of 32 bits."""
    if not isinstance(operand, Register):
        raise NotKnownError(i)
    shift = np.uint32(16 if operand.part.startswith("H1") else 0)
    read = read_u32(i, Register(operand.index, operand.uniform))

    def select_part(c: ExecutionContext) -> Array:
        value = of_bfloat((read(c) >> shift) & np.uint32(0xFFFF))
        value = np.abs(value) if operand.absolute else value
        return -value if operand.negative else value

    return select_part


@operation("F2F", modifiers=f"F16 BF16 F32 F64 FTZ {DIRECTIONS}")
def _float_of_float(i: Instruction) -> Step:
    """The first type is what comes of it, the second what is given."""
    names = [each for each in i.modifiers if each in ("F16", "BF16", "F32", "F64")]
    if len(names) != 2:
        raise NotKnownError(i)
    to, source = names
    guard, write = read_guard(i), write_u64(i, 0) if to == "F64" else write_u32(i, 0)
    readers: dict[str, Callable[[Operand], Read]] = {
        "F64": lambda operand: read_f64(i, operand),
        "F32": lambda operand: read_f32(i, operand),
        "F16": lambda operand: half_of(i, operand),
        "BF16": lambda operand: _read_bfloat(i, operand),
    }
    read = readers[source](operand_at(i, 1))
    writers: dict[str, Callable[[Array], Array]] = {
        "F64": lambda values: values,
        "F32": lambda values: round_to_single(values, i),
        "F16": lambda values: _round_to_half(values, i),
        "BF16": lambda values: _round_to_bfloat(values, i),
    }
    made = writers[to]
    return lambda c: write(c, made(read(c).astype(np.float64)), guard(c))


@operation("FRND", modifiers=f"F16 BF16 F32 F64 FTZ {_ROUNDINGS}")
def _round(i: Instruction) -> Step:
    how, guard, read = to_whole(i), read_guard(i), _read_number(i, operand_at(i, 1))
    if i.has("F64"):
        wide = write_u64(i, 0)
        return lambda c: wide(c, how(read(c)), guard(c))
    result = write_u32(i, 0)
    if i.has("F16"):
        return lambda c: result(c, half_bits(how(read(c))), guard(c))
    if i.has("BF16"):
        return lambda c: result(c, round_to_bfloat16(how(read(c))), guard(c))
    return lambda c: result(c, how(read(c)).astype(np.float32), guard(c))


_PACKED: Final = "F16 BF16 F32 E4M3 E5M2 PACK_AB PACK_AB_MERGE_C UNPACK_B UNPACK_B_MERGE_C"


@operation("F2FP", modifiers=f"{_PACKED} RELU SATFINITE RZ")
def _pack(i: Instruction) -> Step:
    """Two numbers become two of fewer bits in one register, the first the upper."""
    small = next((each for each in SMALL if i.has(each)), None)
    if small is not None:
        return _unpack(i, small) if i.has("UNPACK_B") else _pack_small(i, small)
    if not i.has("PACK_AB"):
        raise NotKnownError(i)
    upper, lower = read_f32(i, 1), read_f32(i, 2)
    guard, result = read_guard(i), write_u32(i, 0)
    relu, brain = i.has("RELU"), i.has("BF16")

    def stored(values: Array) -> Array:
        values = np.maximum(values, np.float32(0)) if relu else values
        return (
            _round_to_bfloat(values, i) if brain else _round_to_half(values.astype(np.float64), i)
        )

    def execute(c: ExecutionContext) -> None:
        result(c, stored(upper(c)) << np.uint32(16) | stored(lower(c)), guard(c))

    return execute


def _pack_small(i: Instruction, name: str) -> Step:
    """Two numbers become two of 8 bits; those of a third register move up by 16 bits."""
    if not i.has("SATFINITE"):
        raise NotKnownError(i)
    relu, guard, result = i.has("RELU"), read_guard(i), write_u32(i, 0)
    packed = operand_at(i, 1)
    sources: list[Read]
    if i.has("PACK_AB_MERGE_C") and i.has("F32"):
        sources = [read_f32(i, n) for n in range(1, 3)]
    elif i.has("UNPACK_B_MERGE_C") and i.has("F16") and isinstance(packed, Register):
        sources = [half_of(i, Register(packed.index, part=part)) for part in ("H1", "H0")]
    else:
        raise NotKnownError(i)
    merged = read_u32(i, -1)

    def stored(values: Array) -> Array:
        return small_bits(np.maximum(values, np.float32(0)) if relu else values, name)

    def execute(c: ExecutionContext) -> None:
        upper, lower = (stored(read(c)) for read in sources)
        packed = merged(c) << np.uint32(16) | upper << np.uint32(8) | lower
        result(c, packed, guard(c))

    return execute


def _unpack(i: Instruction, name: str) -> Step:
    source = operand_at(i, 1)
    if not i.has("F16") or not isinstance(source, Register) or i.has("RELU", "RZ"):
        raise NotKnownError(i)
    shift = np.uint32(16 if source.part.startswith("H1") else 0)
    a = read_u32(i, Register(source.index, source.uniform))
    guard, result = read_guard(i), write_u32(i, 0)
    table = half_bits(SMALL[name])

    def execute(c: ExecutionContext) -> None:
        raw = a(c) >> shift
        packed = table[raw >> np.uint32(8) & np.uint32(255)] << np.uint32(16)
        result(c, packed | table[raw & np.uint32(255)], guard(c))

    return execute
