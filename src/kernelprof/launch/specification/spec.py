"""A launch specification with its defaults, and resolved at given sizes within a GPU's limits."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path  # noqa: TC003 (msgspec reads the annotations)
from typing import TYPE_CHECKING, Any, Final

import msgspec

from kernelprof.launch.specification.elements import element_bytes, is_floating
from kernelprof.launch.specification.expressions import (
    Expression,
    SpecError,
    bound_value,
    evaluate_whole,
)
from kernelprof.launch.specification.tables import SpecTable, to_json_values
from kernelprof.model.numbers import count
from kernelprof.model.specification import TOLERANCE, default_tolerance

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kernelprof.launch.specification.expressions import Number
    from kernelprof.launch.specification.tables import Argument, Define, Member
    from kernelprof.launch.specification.tensor_maps import MapLayout


Dim3 = tuple[int, int, int]
# What every GPU since compute capability 3.0 allows (CUDA C++ Programming Guide, "Features and
# Technical Specifications"); a device may allow less of the product through its registers.
MAX_BLOCK: Dim3 = (1024, 1024, 64)
MAX_THREADS = 1024
MAX_GRID: Dim3 = (2**31 - 1, 65535, 65535)
PLAIN_SHARED_BYTES = 48 * 1024
"""Shared memory that a block gets without asking for more (CUDA C++ Programming Guide)."""
MAX_CLUSTER = 16
"""The most blocks of a cluster that a GPU has room for, and only if it is asked to: Hopper's limit
(CUDA C++ Programming Guide, "Thread Block Clusters"); 8 are portable."""


@dataclass(frozen=True, slots=True)
class ResolvedArray:
    """An array argument at given sizes."""

    argument: Argument
    index: int
    shape: tuple[int, ...]
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class ResolvedScalar:
    """A scalar argument at given sizes."""

    argument: Argument
    index: int
    value: Number


@dataclass(frozen=True, slots=True)
class ResolvedTensorMap:
    """A tensor map at given sizes."""

    argument: Argument
    index: int
    array: str
    layout: MapLayout


@dataclass(frozen=True, slots=True)
class ResolvedStructure:
    """A structure that is passed by value, at given sizes."""

    argument: Argument
    index: int
    layout: StructLayout


ResolvedArgument = ResolvedArray | ResolvedScalar | ResolvedStructure | ResolvedTensorMap


@dataclass(frozen=True, slots=True)
class ResolvedLaunch:
    """All parts of a launch as numbers."""

    grid: Dim3
    block: Dim3
    shared_bytes: int
    sizes: Mapping[str, int]
    arguments: tuple[ResolvedArgument, ...]
    flops: float | None
    min_bytes: float | None
    cluster: Dim3 | None = None

    @property
    def arrays(self) -> dict[str, ResolvedArray]:
        """The arrays by name."""
        return {a.argument.name: a for a in self.arguments if isinstance(a, ResolvedArray)}

    @property
    def parameters(self) -> tuple[ResolvedArgument, ...]:
        """The arguments that are parameters of the kernel, in order."""
        return tuple(each for each in self.arguments if each.argument.passed)


def _argument(
    argument: Argument,
    index: int,
    arrays: Mapping[str, ResolvedArray],
    names: Mapping[str, Number],
) -> ResolvedArgument:
    if argument.value is not None:
        return ResolvedScalar(argument, index, _scalar(argument.element, argument.value, names))
    if argument.members is not None:
        return ResolvedStructure(argument, index, _layout(argument.members, names, argument.name))
    if argument.tensor_map is None:
        return arrays[argument.name]
    array = arrays[argument.tensor_map.of]
    map_layout = argument.tensor_map.resolve(array.argument.element, array.shape, names)
    return ResolvedTensorMap(argument, index, argument.tensor_map.of, map_layout)


def _cluster(
    extents: tuple[Expression, ...] | None, grid: Dim3, names: Mapping[str, Number]
) -> Dim3 | None:
    if extents is None:
        return None
    cluster = _dim3(extents, names, (MAX_CLUSTER,) * 3, "blocks of a cluster")
    blocks = math.prod(cluster)
    where = extents[0].where
    if blocks > MAX_CLUSTER:
        raise SpecError(
            f"a cluster of {_shown(cluster)} has {blocks} blocks; no GPU supports more than "
            f"{MAX_CLUSTER}",
            where=where,
            hint="use at most 8 blocks: larger clusters are not portable",
        )
    refuse_partial_clusters(grid, cluster, where)
    return cluster


def refuse_partial_clusters(grid: Dim3, cluster: Dim3, where: str | None) -> None:
    """Raise :class:`SpecError` for a grid that clusters do not fill."""
    for axis, blocks, extent in zip("xyz", grid, cluster, strict=True):
        if blocks % extent:
            raise SpecError(
                f"the grid has {count(blocks, 'block')} in {axis}, but a cluster has {extent}: "
                "the grid must consist of whole clusters",
                where=where,
                hint=f'round the grid up ("round_up({blocks}, {extent})"); blocks beyond the '
                "data must still take part in the barriers of their cluster",
            )


def _shown(extents: Sequence[int]) -> str:
    return "x".join(map(str, extents))


def _dim3(
    extents: tuple[Expression, ...], names: Mapping[str, Number], most: Dim3, what: str
) -> Dim3:
    values = [
        evaluate_whole(extent, names, 1, limit, f" {what} in {axis}")
        for extent, limit, axis in zip(extents, most, "xyz", strict=False)
    ]
    x, y, z = (*values, 1, 1, 1)[:3]
    return x, y, z


def _amount(expression: Expression | None, names: Mapping[str, Number]) -> float | None:
    if expression is None:
        return None
    return bound_value(expression, float(expression.value(names)), 0, math.inf)


def _scalar(type_name: str, expression: Expression, names: Mapping[str, Number]) -> Number:
    if is_floating(type_name):
        return float(expression.value(names))
    least, most = 0, 1
    if type_name != "bool":
        values = 1 << int(type_name.removeprefix("u").removeprefix("int"))
        least = 0 if type_name.startswith("u") else -values // 2
        most = least + values - 1
    return evaluate_whole(expression, names, least, most, f", which does not fit in {type_name}")


POINTER_BYTES: Final = 8
MOST_BYTES: Final = 4096
"""That parameters have room for on every GPU (CUDA C++ Programming Guide, "Function Parameters");
from compute capability 7.0 on there are more, which no structure needs."""


@dataclass(frozen=True, slots=True)
class PlacedMember:
    """A structure's member with its offset and values."""

    member: Member
    offset: int
    numbers: tuple[Number, ...]


@dataclass(frozen=True, slots=True)
class StructLayout:
    """A structure's members and size in memory."""

    members: tuple[PlacedMember, ...]
    size: int


def _layout(members: Sequence[Member], names: Mapping[str, Number], where: str) -> StructLayout:
    """Place members as C does; :class:`SpecError` for too many bytes."""
    at, most, members_placed = 0, 1, []
    for each in members:
        one = POINTER_BYTES if each.type is None else element_bytes(each.type)
        align = each.align or one
        most = max(most, align)
        at = -(-at // align) * align
        numbers = tuple(_scalar(each.type or "", value, names) for value in each.numbers)
        members_placed.append(PlacedMember(each, at, numbers))
        at += one * max(1, len(numbers))
    size = -(-at // most) * most
    if size > MOST_BYTES:
        raise SpecError(
            f"the structure {where} has {size:,} bytes; kernelprof supports at most {MOST_BYTES:,}",
            where=None,
        )
    return StructLayout(tuple(members_placed), size)


class LaunchSpec(SpecTable, frozen=True, kw_only=True):
    """A specification with its defaults, and its file."""

    path: Path | None = None

    @property
    def outputs(self) -> tuple[Argument, ...]:
        """The arrays that the kernel writes, in order of its parameters."""
        return tuple(argument for argument in self.arguments if argument.output)

    @property
    def tolerance(self) -> float:
        """The largest error of an output: that of ``[check]``, else the loosest default."""
        if self.check.tolerance is not None:
            return self.check.tolerance
        return max(map(self._default_tolerance, self.outputs), default=TOLERANCE)

    def output_tolerance(self, output: Argument) -> float:
        """Return the largest allowed error of an output, by default that of its own type."""
        defaults = {self._default_tolerance(each) for each in self.outputs}
        if self.tolerance == max(defaults, default=TOLERANCE):
            return self._default_tolerance(output)
        return self.tolerance

    def _default_tolerance(self, output: Argument) -> float:
        if not is_floating(output.element):
            return TOLERANCE
        arrays = [each for each in self.arguments if each.shape is not None and not each.output]
        return default_tolerance(output.element, (each.element for each in arrays))

    @property
    def check_sizes(self) -> dict[str, int]:
        """The sizes of the check: ``[sizes]`` with those of ``[check]``."""
        return {**self.sizes, **self.check.sizes}

    def changed(
        self,
        *,
        sizes: Mapping[str, int] | None = None,
        defines: Mapping[str, Define] | None = None,
        reference: str | None = None,
    ) -> LaunchSpec:
        """Return the launch with other sizes, defines or reference."""
        options = self.compile
        if defines:
            options = msgspec.structs.replace(options, defines={**options.defines, **defines})
        return msgspec.structs.replace(
            self,
            sizes={**self.sizes, **(sizes or {})},
            compile=options,
            reference=self.reference if reference is None else reference,
        )

    def resolve(self, sizes: Mapping[str, int] | None = None) -> ResolvedLaunch:
        """Evaluate all expressions at the given sizes, else at ``[sizes]``.

        Raises :class:`SpecError` where one fails.
        """
        sizes = self.sizes if sizes is None else sizes
        numbers = {k: v for k, v in self.compile.defines.items() if not isinstance(v, str)}
        names: dict[str, Number] = {**numbers, **sizes}
        grid = _dim3(self.grid, names, MAX_GRID, "blocks of the grid")
        block = _dim3(self.block, names, MAX_BLOCK, "threads of a block")
        if math.prod(block) > MAX_THREADS:
            raise SpecError(
                f"a block of {_shown(block)} has {math.prod(block)} threads; GPUs allow at most "
                f"{MAX_THREADS}",
                where=self.block[0].where,
                hint="make the block smaller",
            )
        arrays = {
            argument.name: ResolvedArray(
                argument,
                index,
                tuple(evaluate_whole(e, names, 1) for e in argument.shape),
                None if argument.limit is None else evaluate_whole(argument.limit, names, 1),
            )
            for index, argument in enumerate(self.arguments)
            if argument.shape is not None
        }
        return ResolvedLaunch(
            grid=grid,
            block=block,
            shared_bytes=evaluate_whole(self.launch.shared_bytes, names, 0),
            sizes=dict(sizes),
            arguments=tuple(
                _argument(each, index, arrays, names) for index, each in enumerate(self.arguments)
            ),
            flops=_amount(self.flops, names),
            min_bytes=_amount(self.min_bytes, names),
            cluster=_cluster(self.launch.cluster, grid, names),
        )

    def document(self) -> dict[str, Any]:
        """Return the specification with all defaults; reading it gives an equal specification."""
        document: dict[str, Any] = to_json_values(msgspec.structs.replace(self, path=None))
        for argument in document["arguments"]:
            if "shape" not in argument:
                del argument["output"]
        return document
