"""Tensor maps: the view of an array that TMA copies boxes of, as a specification has it.

The limits are those of ``cuTensorMapEncodeTiled`` (CUDA Driver API, "Tensor Map Object
Management", 13.0), which answers all of them with the same "invalid argument".
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final, Literal

from msgspec import Meta

from kernelprof.launch.specification.elements import TENSOR_MAP_TYPES, element_bytes, is_floating
from kernelprof.launch.specification.expressions import (
    IDENTIFIER,
    Dimension,
    SpecError,
    StrictTable,
    evaluate_whole,
)
from kernelprof.model.numbers import count

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kernelprof.launch.specification.expressions import Number


_MOST_DIMENSION = 2**32
_MOST_STRIDE_BYTES = 2**40
_STRIDE_BYTES = 16
_MOST_BOX = 256
_BOX_BYTES = 16
SWIZZLE_BYTES: Final = {"32B": 32, "64B": 64, "128B": 128}
"""Bytes within which a swizzle permutes: a row of the box has to fit."""
TENSOR_MAP_BYTES: Final = 128
_MOST_STEP = 8
_Extents = Annotated[tuple[Dimension, ...], Meta(min_length=1, max_length=5)]


@dataclass(frozen=True, slots=True)
class MapLayout:
    """The arguments of ``cuTensorMapEncodeTiled`` beside the address."""

    type: str
    dims: tuple[int, ...]
    strides_bytes: tuple[int, ...]
    """Of every dimension but the fastest."""
    box: tuple[int, ...]
    swizzle: str = "none"
    l2_promotion: str = "128B"
    fill: str = "zeros"
    element_strides: tuple[int, ...] = ()
    """Every so many elements of each dimension are copied; empty: all are."""


class TensorMap(StrictTable, frozen=True, kw_only=True):
    """How a tensor map sees an array; dimensions stand with the fastest one first.

    ``strides`` are elements between neighbours of each dimension but the fastest.
    """

    of: Annotated[
        str,
        Meta(pattern=f"^{IDENTIFIER}$", description="the name of an array", examples=["A"]),
    ]
    box: Annotated[
        _Extents,
        Meta(description="elements that one copy moves, in each dimension", examples=[[64, "BM"]]),
    ]
    swizzle: Literal["none", "32B", "64B", "128B"] = "none"
    interleave: Literal["none"] = "none"
    l2_promotion: Literal["none", "64B", "128B", "256B"] = "128B"
    fill: Annotated[
        Literal["zeros", "nan"], Meta(description="value of elements outside the tensor")
    ] = "zeros"
    dims: Annotated[
        _Extents | None,
        Meta(
            description="elements in each dimension; default: the array's shape, reversed",
            examples=[[64, "M", "K // 64"]],
        ),
    ] = None
    strides: Annotated[
        Annotated[tuple[Dimension, ...], Meta(max_length=4)] | None,
        Meta(
            description="stride of each dimension but the first, in elements; default: packed "
            "dimensions",
            examples=[["K", 64]],
        ),
    ] = None
    element_strides: Annotated[
        _Extents | None,
        Meta(
            description="traversal stride in each dimension; with 2, every other element is copied"
        ),
    ] = None

    def resolve(
        self, type_name: str, shape: Sequence[int], names: Mapping[str, Number]
    ) -> MapLayout:
        """Return the map in numbers.

        Raises :class:`SpecError` where the driver would refuse it or where it exceeds the
        array.
        """
        size = element_bytes(type_name)
        dims = tuple(reversed(shape))
        if self.dims is not None:
            dims = tuple(evaluate_whole(e, names, 1, _MOST_DIMENSION) for e in self.dims)
        where = self.box[0].where
        if len(dims) > 5:
            raise SpecError(
                f"{self.of} has {len(dims)} dimensions; a tensor map has at most 5",
                where=where,
                hint="describe the array with at most 5 dimensions: dims = [...], strides = [...]",
            )
        if len(self.box) != len(dims):
            raise SpecError(
                f"the box has {count(len(self.box), 'dimension')}, but the tensor map has "
                f"{len(dims)}: {_listed(dims)}",
                where=where,
                hint="give one extent for each dimension, the fastest first",
            )
        strides = _strides(self, dims, names)
        _refuse_strides(self, dims, strides, size)
        strided = zip(dims[1:], strides, strict=True)
        reached = dims[0] + sum((extent - 1) * stride for extent, stride in strided)
        if reached > math.prod(shape):
            raise SpecError(
                f"the tensor map covers {reached} elements, but {self.of} has {math.prod(shape)}",
                where=(self.strides or self.dims or self.box)[0].where,
                hint="give dims and strides in elements, the fastest dimension first",
            )
        if self.fill == "nan" and not (is_floating(type_name) and type_name in TENSOR_MAP_TYPES):
            raise SpecError(
                f"{self.of} is {type_name}, which a tensor map cannot fill with NaN",
                where=where,
                hint='fill = "zeros"',
            )
        return MapLayout(
            type=type_name,
            dims=dims,
            strides_bytes=tuple(stride * size for stride in strides),
            box=_box(self, names, size),
            swizzle=self.swizzle,
            l2_promotion=self.l2_promotion,
            fill=self.fill,
            element_strides=_element_strides(self, names),
        )


def _element_strides(table: TensorMap, names: Mapping[str, Number]) -> tuple[int, ...]:
    if table.element_strides is None:
        return ()
    if len(table.element_strides) != len(table.box):
        raise SpecError(
            f"the tensor map has {count(len(table.element_strides), 'element stride')}, but its "
            f"box has {count(len(table.box), 'dimension')}",
            where=table.element_strides[0].where,
            hint="give one element stride for each dimension, using 1 for the first",
        )
    return tuple(evaluate_whole(e, names, 1, _MOST_STEP) for e in table.element_strides)


def _strides(table: TensorMap, dims: Sequence[int], names: Mapping[str, Number]) -> tuple[int, ...]:
    if table.strides is None:
        return tuple(math.prod(dims[:index]) for index in range(1, len(dims)))
    if len(table.strides) != len(dims) - 1:
        raise SpecError(
            f"the tensor map has {count(len(table.strides), 'stride')} for "
            f"{count(len(dims), 'dimension')}",
            where=(table.strides or table.box)[0].where,
            hint="every dimension except the first, which is contiguous, needs a stride",
        )
    return tuple(evaluate_whole(e, names, 1) for e in table.strides)


def _refuse_strides(
    table: TensorMap, dims: Sequence[int], strides: Sequence[int], size: int
) -> None:
    for index, stride in enumerate(strides):
        where = table.box[0].where if table.strides is None else table.strides[index].where
        if stride * size % _STRIDE_BYTES:
            raise SpecError(
                f"the stride of {table.of} in dimension {index + 1} of the tensor map is "
                f"{stride * size} bytes, which is not a multiple of {_STRIDE_BYTES}",
                where=where,
                hint=f"make the extent of dimension {index} a multiple of {_STRIDE_BYTES // size}"
                if table.strides is None
                else f"make the stride a multiple of {_STRIDE_BYTES // size} elements",
            )
        if stride * size >= _MOST_STRIDE_BYTES:
            raise SpecError(
                f"the stride of {table.of} in dimension {index + 1} of the tensor map is "
                f"{stride * size} bytes, but must be less than 2**40",
                where=where,
            )
    if any(each > _MOST_DIMENSION for each in dims):
        raise SpecError(
            f"a dimension of the tensor map has more than 2**32 elements: {_listed(dims)}",
            where=(table.dims or table.box)[0].where,
        )


def _box(table: TensorMap, names: Mapping[str, Number], size: int) -> tuple[int, ...]:
    where = table.box[0].where
    box = tuple(evaluate_whole(e, names, 1, _MOST_BOX, " elements of the box") for e in table.box)
    row = box[0] * size
    if row % _BOX_BYTES:
        raise SpecError(
            f"a row of the box has {row} bytes, which is not a multiple of {_BOX_BYTES}",
            where=where,
            hint=f"make the row a multiple of {_BOX_BYTES // size} elements",
        )
    span = SWIZZLE_BYTES.get(table.swizzle)
    if span is not None and row > span:
        raise SpecError(
            f"a row of the box has {row} bytes, but the swizzle {table.swizzle} spans only {span}",
            where=where,
            hint=f"use rows of at most {span // size} elements, and copy more boxes or add a "
            "dimension to the map: dims = [...], strides = [...]",
        )
    return box


def _listed(dims: Sequence[int]) -> str:
    return f"[{', '.join(map(str, dims))}]"
