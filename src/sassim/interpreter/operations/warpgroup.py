"""Products of a warpgroup (``wgmma``): HGMMA, QGMMA, IGMMA, BGMMA, with operands in shared memory.

A warp computes the 16 rows of its place among the four: it depends on no register of the others, so
that each is carried out by itself. The layouts are those of the PTX ISA, "Asynchronous warpgroup
level matrix shared memory layout": a descriptor has where a matrix begins, how far groups of 8 rows
lie apart, and how its bytes are swizzled. Results are there at once.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import numpy as np

from sassim.interpreter.context import NotKnownError
from sassim.interpreter.lanes import LANES, distinct, first_of
from sassim.interpreter.number_formats import half_bits, of_half
from sassim.interpreter.operand_access import (
    operand_at,
    pair,
    read_guard,
    read_predicate,
    read_u32,
    write_predicate,
    write_u32,
)
from sassim.interpreter.operations import operation
from sassim.interpreter.operations.address_spaces import at_first_lane, block_rows, locate_shared
from sassim.interpreter.operations.tensor import (
    ELEMENT_TYPES,
    arrange_a,
    read_registers,
    stack_registers,
)
from sassim.interpreter.tensor_maps import UNIT_BYTES, swizzle
from sassim.opcodes import find_opcode
from sassim.sass.operands import Other, Predicate, Register

if TYPE_CHECKING:
    from collections.abc import Callable

    from sassim.interpreter.context import ExecutionContext
    from sassim.interpreter.lanes import Array
    from sassim.interpreter.operations import Step
    from sassim.interpreter.operations.tensor import ElementType
    from sassim.sass.listing import Instruction

_ROWS: Final = 64
"""Rows of A, and of the result."""
WARP_ROWS: Final = 16
"""Rows of a product that each of its warps computes."""
_WAVEFRONT_BYTES: Final = 128
"""Bytes of shared memory that a wavefront reads: a product reads A and B once for its warpgroup, as
the wavefronts of the BF16 ladder say (``tests/captures/bf16``)."""
_GROUP: Final = 8
"""Rows of a core matrix, each of 16 bytes."""
_ROW_BYTES: Final = 32
"""Bytes of a row of A or B that an instruction takes, whatever the type."""
_SPANS: Final = (0, 128, 64, 32)
"""Bytes within which a matrix is swizzled, by the upper two bits of its descriptor."""
_FIELD: Final = 0x3FFF
"""Fields of a descriptor count 16 bytes."""
_TYPES: Final = {
    "H": ("F16", "BF16", "TF32"),
    "Q": ("E4M3", "E5M2"),
    "I": ("S8", "U8"),
    "B": (),
}
"""Types of operands by the first letter of an opcode."""
_OF_FLOATS: Final = "HQ"
_DESCRIPTORS: Final = re.compile(r"gdesc\[UR(\d+)\]((?:\.(?:neg|tnsp)[AB])*)")


def is_product(i: Instruction) -> bool:
    """Whether it is a warp's part of a warpgroup's product."""
    return find_opcode(i.opcode).category == "wgmma"


def product_shape(i: Instruction) -> tuple[int, int, int]:
    """Rows, columns and depth of the product of a warpgroup: ``64x256x16``."""
    for each in i.modifiers:
        if re.fullmatch(r"64x\d+x\d+", each):
            m, n, k = map(int, each.split("x"))
            return m, n, k
    raise NotKnownError(i)


def operand_wavefronts(i: Instruction) -> float:
    """Wavefronts of shared memory in which a warp's part of a product reads A and B."""
    m, n, _ = product_shape(i)
    rows = n if isinstance(operand_at(i, 1), Register) else m + n
    return rows * _ROW_BYTES * WARP_ROWS / _ROWS / _WAVEFRONT_BYTES


def product_registers(i: Instruction) -> tuple[frozenset[str], frozenset[str]]:
    """Registers that a product writes, and those that it reads beside them, by name."""
    _, columns, _ = product_shape(i)
    source, target = operand_at(i, 1), operand_at(i, 0)
    first, _ = _find_descriptors(i)
    if not isinstance(target, Register):
        raise NotKnownError(i)
    count = columns // (4 if _has_half_sums(i) else 2)
    read = {f"UR{first + n}" for n in range(4)}
    if isinstance(source, Register):
        read |= {f"R{source.index + n}" for n in range(4)}
    return frozenset(f"R{target.index + n}" for n in range(count)), frozenset(read)


def _find_descriptors(i: Instruction) -> tuple[int, list[str]]:
    """The first register of the descriptors of A and B, and what is said of the matrices."""
    written = operand_at(i, 2 if isinstance(operand_at(i, 1), Register) else 1)
    matched = _DESCRIPTORS.fullmatch(written.text) if isinstance(written, Other) else None
    if matched is None:
        raise NotKnownError(i)
    return int(matched[1]), matched[2].split(".")


def _has_half_sums(i: Instruction) -> bool:
    """Whether two sums of 16 bits share a register."""
    return i.opcode[0] in _OF_FLOATS and not i.has("F32")


@operation("WARPGROUP", modifiers="ARRIVE DEPBAR LE")
def _order_products(_: Instruction) -> Step:
    """``wgmma.fence``, ``wgmma.wait_group``: everything is done in order here."""
    return lambda _: None


@operation("USETMAXREG", modifiers="DEALLOC TRY_ALLOC CTAPOOL")
def _move_registers(i: Instruction) -> Step:
    """``setmaxnreg``: warps have the registers that they ask for."""
    if not isinstance(i.operands[0], Predicate):
        return lambda _: None
    flag, guard = write_predicate(i, 0), read_guard(i)
    return lambda c: flag(c, np.ones((1, 1), np.bool_), guard(c))


@operation("HGMMA", "QGMMA", "IGMMA", "BGMMA")
def _multiply(i: Instruction) -> Step:
    names = [each for each in i.modifiers if each in _TYPES[i.opcode[0]]]
    if i.has("SP"):
        raise NotKnownError(i, "multiplies a sparse matrix, which is not supported")
    _, columns, _ = product_shape(i)
    halves = _has_half_sums(i)
    kinds = [ELEMENT_TYPES[each] for each in (names or [_default_type(i)])]
    left, right = _read_operands(i, kinds[0], kinds[-1], columns)
    adds = [read_predicate(i, each) for each in i.operands[3:] if isinstance(each, Predicate)]
    count = columns // 4 if halves else columns // 2
    sums = read_registers(i, _place_of_sums(i), count)
    guard, accumulate = read_guard(i), _add_single
    if halves:
        accumulate = _add_halves
    elif i.opcode[0] not in _OF_FLOATS:
        accumulate = _add_saturating if i.has("SAT") else _add_wholes
    results = [write_u32(i, 0, n) for n in range(count)]

    def execute(c: ExecutionContext) -> None:
        products = _by_lane(np.matmul(left(c), right(c)))
        added = None
        for each in adds:
            added = c.broadcast(each(c))[:, :1]
        active = guard(c)
        for n, (result, addend) in enumerate(zip(results, sums, strict=True)):
            raw = c.broadcast(addend(c))
            raw = raw if added is None else np.where(added, raw, np.uint32(0))
            result(c, accumulate(products, n, raw), active)

    return execute


def _add_single(products: Array, n: int, raw: Array) -> Array:
    total: Array = products[n] + raw.view(np.float32)
    return total


def _add_halves(products: Array, n: int, raw: Array) -> Array:
    low = half_bits(products[2 * n] + of_half(raw & 0xFFFF))
    packed: Array = half_bits(products[2 * n + 1] + of_half(raw >> 16)) << np.uint32(16) | low
    return packed


def _add_wholes(products: Array, n: int, raw: Array) -> Array:
    total: Array = products[n].astype(np.int32) + raw.view(np.int32)
    return total


def _add_saturating(products: Array, n: int, raw: Array) -> Array:
    limits = np.iinfo(np.int32)
    total = products[n].astype(np.int64) + raw.view(np.int32)
    limited: Array = np.clip(total, limits.min, limits.max).astype(np.int32)
    return limited


def _by_lane(matrix: Array) -> Array:
    """Elements of warps, rows, columns in the order in which lanes hold them, by warp and lane."""
    warps, _, columns = matrix.shape
    shape = (warps, 2, _GROUP, columns // _GROUP, LANES // _GROUP, 2)
    by_element = matrix.reshape(shape).transpose(3, 1, 5, 0, 2, 4)
    return np.ascontiguousarray(by_element).reshape(-1, warps, LANES)


def _default_type(i: Instruction) -> str:
    if i.opcode == "HGMMA":
        return "F16"
    if i.opcode == "BGMMA" and i.has("AND"):
        return "B1"
    raise NotKnownError(i)


def _place_of_sums(i: Instruction) -> int:
    return 3 if isinstance(operand_at(i, 1), Register) else 2


def _read_operands(
    i: Instruction, a_type: ElementType, b_type: ElementType, columns: int
) -> tuple[Callable[[ExecutionContext], Array], Callable[[ExecutionContext], Array]]:
    """A, as warps, 16 rows, depth, and B, as warps, depth, columns."""
    source = operand_at(i, 1)
    first, marks = _find_descriptors(i)
    signs = [np.float32(-1 if f"neg{each}" in marks else 1) for each in "AB"]

    if isinstance(source, Register):
        per_register = 32 // a_type.bits
        registers = read_registers(i, 1, WARP_ROWS * _ROW_BYTES // (4 * LANES))
        signs[0] = np.float32(-1 if source.negative else 1)

        def left(c: ExecutionContext) -> Array:
            elements = a_type.read(stack_registers(c, registers))
            return signs[0] * arrange_a(elements, WARP_ROWS, per_register)
    else:
        of_a = _MatrixReader(i, first, a_type, transposed="tnspA" in marks)

        def left(c: ExecutionContext) -> Array:
            warp = c.select_warps(c.blocks.thread_of_block)[:, :1] // LANES % (_ROWS // WARP_ROWS)
            rows = warp * WARP_ROWS + np.arange(WARP_ROWS)
            return signs[0] * of_a.read(c, np.broadcast_to(rows, (c.warps, WARP_ROWS)), _ROWS)

    of_b = _MatrixReader(i, first + 2, b_type, transposed="tnspB" in marks)
    every = np.arange(columns)[None, :]

    def right(c: ExecutionContext) -> Array:
        return (signs[1] * of_b.read(c, every, columns)).transpose(0, 2, 1)

    return left, right


class _MatrixReader:
    """Reads a matrix in shared memory that a descriptor in two uniform registers is of."""

    def __init__(
        self, i: Instruction, register: int, kind: ElementType, *, transposed: bool
    ) -> None:
        self._i = i
        self._words = [read_u32(i, Register(register + n, uniform=True)) for n in range(2)]
        self._kind = kind
        self._transposed = transposed
        if transposed and kind.bits != 16:
            raise NotKnownError(i)

    def read(self, c: ExecutionContext, rows: Array, most: int) -> Array:
        """Its elements as warps, rows, depth; ``rows`` are those that each warp takes."""
        low, high = (first_of(each(c), c.mask) for each in self._words)
        descriptors = np.broadcast_to(pair(low, high), (c.warps, 1))[:, 0]
        result: Array | None = None
        for each in distinct(descriptors):
            mine = np.flatnonzero(descriptors == each)
            got = self._read_alike(c, int(each), mine, rows[mine] if len(rows) > 1 else rows, most)
            if result is None:
                result = np.zeros((c.warps, *got.shape[1:]), got.dtype)
            result[mine] = got
        assert result is not None  # a context has warps
        return result

    def _read_alike(
        self, c: ExecutionContext, descriptor: int, warps: Array, rows: Array, most: int
    ) -> Array:
        if descriptor >> 49 & 7:
            raise NotKnownError(
                self._i, "reads a matrix with a base offset, which is not supported"
            )
        start = (descriptor & _FIELD) * UNIT_BYTES
        leading, stride = ((descriptor >> at & _FIELD) * UNIT_BYTES for at in (16, 32))
        span = _SPANS[descriptor >> 62]
        if self._transposed:
            table, unit = _locate_transposed(most, leading, stride, span), 2
        else:
            table, unit = _locate_rows(most, leading, stride, span), UNIT_BYTES
        every = np.broadcast_to(c.broadcast(np.zeros((1, 1), np.int64))[:, :1], (c.warps, 1))
        _, owners = locate_shared(c, every + self._own_rank(c), None)
        how = {"span": span, "unit": unit, "warp": int(warps[0])}
        # Neighbouring warps of a block mostly read the same.
        keys = np.broadcast_to(owners, (c.warps, 1))[warps, 0]
        if len(rows) == 1:
            blocks, inverse = np.unique(keys, return_inverse=True)
            got = self._gather(c, blocks[:, None], start + table[rows[0]][None], **how)
            return self._kind.read(got)[inverse]
        got = self._gather(c, keys[:, None], start + table[rows], **how)
        return self._kind.read(got)

    def _own_rank(self, c: ExecutionContext) -> Array:
        if c.blocks.clusters.size == 1:
            return np.zeros((c.warps, 1), np.int64)
        ranks: Array = c.blocks.clusters.rank[block_rows(c)].astype(np.int64) << 24
        return ranks

    def _gather(
        self, c: ExecutionContext, owners: Array, at: Array, *, span: int, unit: int, warp: int
    ) -> Array:
        """Units at addresses (of owners, rows, units), as words in a last dimension."""
        count = len(owners)
        places = np.broadcast_to(swizzle(at, span), (count, *at.shape[1:])).reshape(count, -1)
        with at_first_lane(warp):
            got = c.blocks.shared.load(places, owners, None, unit)
        rows = at.shape[-2]
        return np.ascontiguousarray(got).reshape(count, rows, -1).view(np.uint32)


@lru_cache(maxsize=256)
def _locate_rows(rows: int, leading: int, stride: int, span: int) -> Array:
    """Offsets of the two 16 bytes of each row of a matrix whose depth is contiguous."""
    row, half = np.arange(rows)[:, None], np.arange(2)[None, :]
    pitch, step = (span, UNIT_BYTES) if span else (UNIT_BYTES, leading)
    return row // _GROUP * stride + row % _GROUP * pitch + half * step


@lru_cache(maxsize=256)
def _locate_transposed(rows: int, leading: int, stride: int, span: int) -> Array:
    """Offsets of each 16-bit element, by row and depth, of a matrix whose rows are contiguous."""
    row, depth = np.arange(rows)[:, None], np.arange(_ROW_BYTES // 2)[None, :]
    width = max(span, UNIT_BYTES) // 2
    along, across = (leading, stride) if span else (stride, leading)
    inside = row % width * 2 + depth % _GROUP * (width * 2)
    return row // width * along + depth // _GROUP * across + inside
