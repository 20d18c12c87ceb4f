"""Products of small matrices that the lanes of a warp hold together: HMMA, IMMA, DMMA and so on.

Which element is where is said in the PTX ISA, "Matrix Fragments for mma.m16n8k16" and the sections
beside it; one rule gives them all. A lane is 4 times its group and its place in it. It holds of A
the row of its group, and of 16 rows that 8 below; of the columns so many beside each other as a
register takes, from its place on, and again behind those of its group. B is held alike with
columns for rows. Of C and D a lane holds two elements beside each other of each of its rows.

Products are exact; sums are rounded as numbers of 32 bits are, where a GPU cuts off some bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from sassim.interpreter.context import NotKnownError
from sassim.interpreter.number_formats import SMALL, half_bits, of_bfloat, of_half
from sassim.interpreter.operand_access import (
    expect_count,
    halves,
    operand_at,
    pair,
    read_guard,
    read_u32,
    write_u32,
)
from sassim.interpreter.operations import operation
from sassim.sass.operands import ZERO, Register

if TYPE_CHECKING:
    from collections.abc import Callable

    from sassim.interpreter.context import ExecutionContext
    from sassim.interpreter.lanes import Array
    from sassim.interpreter.operations import Step
    from sassim.sass.listing import Instruction

_GROUPS: Final = 8
_PLACES: Final = 4
_COLUMNS: Final = 8
"""Columns of B, C and D."""
_LANES: Final = _GROUPS * _PLACES
_WORD: Final = 32
"""Bits of a register."""
_TF32_BITS: Final = np.uint32(0xFFFFE000)
"""What a tensor core takes of a number of 32 bits (PTX ISA, "Alternate floating point data")."""


@dataclass(frozen=True, slots=True)
class ElementType:
    """How elements of A or B lie in registers."""

    bits: int
    read: Callable[[Array], Array]
    """From registers, in a last dimension, to their elements in a last dimension, exactly."""


def _read_small_integers(bits: int, *, is_signed: bool) -> Callable[[Array], Array]:
    """Whole numbers of a few bits."""
    shifts = np.arange(0, _WORD, bits, dtype=np.uint32)
    sign = 1 << (bits - 1)

    def read(raw: Array) -> Array:
        elements = (raw[..., None] >> shifts & np.uint32(2**bits - 1)).astype(np.int32)
        elements = (elements ^ sign) - sign if is_signed else elements
        return elements.astype(np.float32).reshape(*raw.shape[:-1], -1)

    return read


def _read_small_floats(name: str) -> Callable[[Array], Array]:
    return lambda raw: SMALL[name][raw.view(np.uint8)]


ELEMENT_TYPES: Final = {
    "F16": ElementType(16, lambda raw: of_half(raw.view(np.uint16))),
    "BF16": ElementType(16, lambda raw: of_bfloat(raw.view(np.uint16))),
    "TF32": ElementType(32, lambda raw: (raw & _TF32_BITS).view(np.float32)),
    "S8": ElementType(8, lambda raw: raw.view(np.int8).astype(np.float32)),
    "U8": ElementType(8, lambda raw: raw.view(np.uint8).astype(np.float32)),
    "S4": ElementType(4, _read_small_integers(4, is_signed=True)),
    "U4": ElementType(4, _read_small_integers(4, is_signed=False)),
    "B1": ElementType(1, _read_small_integers(1, is_signed=False)),
    "E4M3": ElementType(8, _read_small_floats("E4M3")),
    "E5M2": ElementType(8, _read_small_floats("E5M2")),
}


def _decode_shape(i: Instruction) -> tuple[int, int]:
    """Rows of A, and its columns: ``16816`` and ``16x8x16`` are 16 by 16."""
    for each in i.modifiers:
        if "x" in each and each.replace("x", "").isdigit():
            rows, _, columns = each.split("x")
            return int(rows), int(columns)
        for rows in ("16", "8"):
            if each.isdigit() and each.startswith(f"{rows}{_COLUMNS}"):
                return int(rows), int(each[len(rows) + 1 :])
    raise NotKnownError(i)


def _check_form(i: Instruction, *allowed: str) -> None:
    """Refuse an instruction that has more to it, such as metadata of a sparse matrix."""
    extra = [each for each in i.modifiers if each not in allowed and not each[0].isdigit()]
    if extra or len(i.operands) != 4:
        raise NotKnownError(i)


def read_registers(
    i: Instruction, place: int, count: int
) -> list[Callable[[ExecutionContext], Array]]:
    """So many registers in a row; what else is said of them is how the matrix lies."""
    operand = operand_at(i, place)
    if not isinstance(operand, Register):
        raise NotKnownError(i)
    if operand.index == ZERO:
        return [read_u32(i, Register(ZERO))] * count
    return [read_u32(i, Register(operand.index + n, operand.uniform)) for n in range(count)]


def stack_registers(
    c: ExecutionContext, registers: list[Callable[[ExecutionContext], Array]]
) -> Array:
    return np.stack([c.broadcast(each(c)) for each in registers], axis=-1)


def arrange_a(elements: Array, rows: int, adjacent: int) -> Array:
    """A: from elements by lane (warps, 32, of each lane) to warps, rows, columns."""
    warps, _, count = elements.shape
    lower = rows // _GROUPS
    blocks = count // (lower * adjacent)
    shape = (warps, _GROUPS, _PLACES, blocks, lower, adjacent)
    ordered = elements.reshape(shape).transpose(0, 4, 1, 3, 2, 5)
    return ordered.reshape(warps, rows, blocks * _PLACES * adjacent)


def _arrange_b(elements: Array, adjacent: int) -> Array:
    """B: from elements by lane to warps, rows, columns."""
    warps, _, count = elements.shape
    blocks = count // adjacent
    shape = (warps, _GROUPS, _PLACES, blocks, adjacent)
    ordered = elements.reshape(shape).transpose(0, 3, 2, 4, 1)
    return ordered.reshape(warps, blocks * _PLACES * adjacent, _COLUMNS)


def _arrange_d(matrix: Array) -> list[Array]:
    """D: from warps, rows, columns to the elements that each lane holds, one after the other."""
    warps, rows, _ = matrix.shape
    apart = matrix.reshape(warps, rows // _GROUPS, _GROUPS, _PLACES, 2)
    return [
        np.ascontiguousarray(apart[:, lower, :, :, n]).reshape(warps, _LANES)
        for lower in range(rows // _GROUPS)
        for n in range(2)
    ]


def _multiply(
    i: Instruction, types: tuple[ElementType, ElementType], rows: int, columns: int
) -> Callable[[ExecutionContext], Array]:
    """A times B, as warps, rows, columns."""
    a_type, b_type = types
    per_register = _WORD // a_type.bits
    a = read_registers(i, 1, rows * columns // (_LANES * per_register))
    b = read_registers(i, 2, _COLUMNS * columns // (_LANES * per_register))

    def execute(c: ExecutionContext) -> Array:
        left = arrange_a(a_type.read(stack_registers(c, a)), rows, per_register)
        right = _arrange_b(b_type.read(stack_registers(c, b)), per_register)
        products: Array = np.matmul(left, right)
        return products

    return execute


def _write_registers(i: Instruction, count: int) -> Callable[[ExecutionContext, list[Array]], None]:
    guard = read_guard(i)
    results = [write_u32(i, 0, n) for n in range(count)]

    def execute(c: ExecutionContext, values: list[Array]) -> None:
        active = guard(c)
        for result, value in zip(results, values, strict=True):
            result(c, value, active)

    return execute


@operation("HMMA", "QMMA")
def _float_product(i: Instruction) -> Step:
    """Of numbers of 8, 16 or 19 bits; sums have 32 bits, or 16."""
    allowed = ("F16", "BF16", "TF32") if i.opcode == "HMMA" else ("E4M3", "E5M2")
    _check_form(i, "F32", *allowed, "F16")
    rows, columns = _decode_shape(i)
    wide = i.has("F32")
    type_names = [each for each in i.modifiers if each in allowed and (wide or each != "F16")]
    types = (
        (ELEMENT_TYPES[type_names[0]], ELEMENT_TYPES[type_names[-1]])
        if type_names
        else (ELEMENT_TYPES["F16"], ELEMENT_TYPES["F16"])
    )
    product = _multiply(i, types, rows, columns)
    elements = rows * _COLUMNS // _LANES
    addend = read_registers(i, 3, elements if wide else elements // 2)
    write = _write_registers(i, len(addend))

    def execute(c: ExecutionContext) -> None:
        values = _arrange_d(product(c))
        if wide:
            write(
                c,
                [
                    v + c.broadcast(each(c)).view(np.float32)
                    for v, each in zip(values, addend, strict=True)
                ],
            )
            return
        packed = []
        for n, each in enumerate(addend):
            raw = c.broadcast(each(c))
            low, high = (
                values[2 * n] + of_half(raw & 0xFFFF),
                values[2 * n + 1] + of_half(raw >> 16),
            )
            packed.append(half_bits(high) << 16 | half_bits(low))
        write(c, packed)

    return execute


@operation("IMMA", "BMMA")
def _integer_product(i: Instruction) -> Step:
    """Of whole numbers of 8 and 4 bits, or of bits, of which those that are set are counted."""
    is_bits = i.opcode == "BMMA"
    allowed = ("AND", "XOR", "POPC") if is_bits else ("S8", "U8", "S4", "U4")
    _check_form(i, *allowed, "SAT")
    rows, columns = _decode_shape(i)
    if is_bits:
        types = (ELEMENT_TYPES["B1"], ELEMENT_TYPES["B1"])
    else:
        first, second = expect_count(i, [each for each in i.modifiers if each in allowed], 2)
        types = (ELEMENT_TYPES[first], ELEMENT_TYPES[second])
    product = (
        _bit_product(i, types[0], rows, columns) if is_bits else _multiply(i, types, rows, columns)
    )
    addend = read_registers(i, 3, rows * _COLUMNS // _LANES)
    write, saturates = _write_registers(i, len(addend)), i.has("SAT")
    limits = np.iinfo(np.int32)

    def execute(c: ExecutionContext) -> None:
        sums = []
        for value, each in zip(_arrange_d(product(c)), addend, strict=True):
            total = value.astype(np.int64) + c.broadcast(each(c)).view(np.int32)
            total = np.clip(total, limits.min, limits.max) if saturates else total
            sums.append(total.astype(np.int32))
        write(c, sums)

    return execute


def _bit_product(
    i: Instruction, kind: ElementType, rows: int, columns: int
) -> Callable[[ExecutionContext], Array]:
    """Bits that are set in both rows and columns, or in one of them."""
    a = read_registers(i, 1, rows * columns // (_LANES * _WORD))
    b = read_registers(i, 2, _COLUMNS * columns // (_LANES * _WORD))
    exclusive = i.has("XOR")
    if not i.has("POPC") or exclusive == i.has("AND"):
        raise NotKnownError(i)

    def execute(c: ExecutionContext) -> Array:
        left = arrange_a(kind.read(stack_registers(c, a)), rows, _WORD)
        right = _arrange_b(kind.read(stack_registers(c, b)), _WORD)
        both: Array = np.matmul(left, right)
        if exclusive:
            both = left.sum(axis=2, keepdims=True) + right.sum(axis=1, keepdims=True) - 2 * both
        return both

    return execute


@operation("DMMA")
def _double_product(i: Instruction) -> Step:
    """Of numbers of 64 bits, two registers each."""
    _check_form(i)
    rows, columns = _decode_shape(i)
    a = read_registers(i, 1, 2 * rows * columns // _LANES)
    b = read_registers(i, 2, 2 * _COLUMNS * columns // _LANES)
    addend = read_registers(i, 3, 2 * rows * _COLUMNS // _LANES)
    write = _write_registers(i, len(addend))

    def execute(c: ExecutionContext) -> None:
        left, right = arrange_a(_read_doubles(c, a), rows, 1), _arrange_b(_read_doubles(c, b), 1)
        third = _read_doubles(c, addend)
        sums: list[Array] = []
        for n, value in enumerate(_arrange_d(np.matmul(left, right))):
            sums += halves(value + third[..., n])
        write(c, sums)

    return execute


def _read_doubles(
    c: ExecutionContext, registers: list[Callable[[ExecutionContext], Array]]
) -> Array:
    """Pairs of registers as numbers of 64 bits beside each other in a last dimension."""
    return np.stack(
        [
            pair(c.broadcast(low(c)), c.broadcast(high(c))).view(np.float64)
            for low, high in zip(registers[::2], registers[1::2], strict=True)
        ],
        axis=-1,
    )
