"""Tensor maps: boxes of an array that TMA copies, and how they lie in shared memory.

Semantics of ``cuTensorMapEncodeTiled`` (CUDA Driver API, "Tensor Map Object Management") and of
swizzling modes (PTX ISA, "Tensor swizzling modes"). How a map is encoded in its 128 bytes is not
published: a launch has maps by the address of their parameter.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from sassim.interpreter.lanes import Array

UNIT_BYTES: Final = 16
"""What swizzling moves as one."""
_UNIT_SHIFT: Final = 4
_ROW_SHIFT: Final = 7
"""Rows of 128 bytes: their number permutes the units of a row."""


@dataclass(frozen=True, slots=True)
class EncodedTensorMap:
    """An array as TMA sees it, the fastest dimension first."""

    address: int
    type: str
    """As ``CUtensorMapDataType`` names it, in lower case (``bfloat16``, ``uint8``)."""
    element_bytes: int
    dims: tuple[int, ...]
    strides_bytes: tuple[int, ...]
    """Of every dimension but the fastest."""
    box: tuple[int, ...]
    element_strides: tuple[int, ...]
    """Every so many elements of each dimension but the fastest are copied."""
    swizzle_bytes: int = 0
    """Bytes within which units of 16 bytes are permuted: 32, 64 or 128; 0: none are."""
    fills_nan: bool = False
    """Whether elements outside of the dimensions are NaN, and not zero."""

    @property
    def copied(self) -> tuple[int, ...]:
        """Elements of a box along each dimension that are copied."""
        steps = (1, *self.element_strides[1:])
        return tuple(-(-extent // step) for extent, step in zip(self.box, steps, strict=True))

    @property
    def row_bytes(self) -> int:
        """Bytes of a row of the box."""
        return self.box[0] * self.element_bytes

    @property
    def box_bytes(self) -> int:
        """Bytes of a box in shared memory, those outside of the dimensions as well."""
        return math.prod(self.copied) * self.element_bytes

    def rows(self, at: Array) -> tuple[Array, Array]:
        """Addresses of the rows of boxes, and whether each is inside of the dimensions.

        ``at`` are coordinates by box and dimension.
        """
        starts: Array = np.full((len(at), 1), self.address, np.int64)
        inside: Array = np.ones((len(at), 1), np.bool_)
        for n, (count, step) in enumerate(
            zip(self.copied[1:], self.element_strides[1:], strict=True), start=1
        ):
            index = at[:, n, None] + step * np.arange(count)
            valid = (index >= 0) & (index < self.dims[n])
            # The next dimension is the slower one.
            starts = (index[:, :, None] * self.strides_bytes[n - 1] + starts[:, None]).reshape(
                len(at), -1
            )
            inside = (valid[:, :, None] & inside[:, None]).reshape(len(at), -1)
        return starts, inside

    def columns(self, first: Array) -> tuple[Array, Array]:
        """Bytes of a row from which on, and up to which, boxes lie inside of the dimensions."""
        begin = np.clip(-first, 0, self.box[0])
        end = np.clip(self.dims[0] - first, begin, self.box[0])
        return begin * self.element_bytes, end * self.element_bytes

    def units(self, at: Array) -> tuple[int, Array, Array]:
        """What one copy moves: the bytes of a unit, and of each of them where it lies.

        That are addresses in global memory, and whether it is inside.
        """
        starts, inside = self.rows(at[None])
        begin, end = (int(each[0]) for each in self.columns(at[:1]))
        first = int(at[0]) * self.element_bytes
        aligned = not any(each % UNIT_BYTES for each in (first, begin, end))
        unit = UNIT_BYTES if aligned else self.element_bytes
        column = np.arange(0, self.row_bytes, unit)
        valid = inside[0, :, None] & (column >= begin) & (column < end)
        sources = starts[0, :, None] + (first + column)
        return unit, sources.reshape(-1), valid.reshape(-1)

    def segments(self, at: Array) -> tuple[Array, Array]:
        """Where the bytes of each row of boxes begin in global memory, and how many are copied."""
        starts, inside = self.rows(at)
        begin, end = (each[:, None] for each in self.columns(at[:, 0]))
        first = at[:, :1] * self.element_bytes
        return starts + (first + begin), np.where(inside, end - begin, 0)


def swizzle(addresses: Array, span: int) -> Array:
    """Where shared memory holds what would lie at addresses; ``span`` bytes are permuted."""
    if not span:
        return addresses
    row = addresses >> _ROW_SHIFT & (span // UNIT_BYTES - 1)
    swizzled: Array = addresses ^ (row << _UNIT_SHIFT)
    return swizzled
