"""A specification at given sizes: every expression worked out, within what a GPU allows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kernelprof.launch.elements import is_floating
from kernelprof.launch.keys import SpecError, bounded, whole
from kernelprof.launch.structures import layout
from kernelprof.model.numbers import count

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kernelprof.launch.expressions import Expression, Number
    from kernelprof.launch.structures import Layout
    from kernelprof.launch.tables import Argument, SpecTable
    from kernelprof.launch.tensor_maps import MapLayout

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
    """What its random whole numbers stay below; the last one of offsets."""


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
    of: str
    """The name of the array that it points at."""
    layout: MapLayout


@dataclass(frozen=True, slots=True)
class ResolvedStructure:
    """A structure that is passed by value, at given sizes."""

    argument: Argument
    index: int
    layout: Layout


ResolvedArgument = ResolvedArray | ResolvedScalar | ResolvedStructure | ResolvedTensorMap


@dataclass(frozen=True, slots=True)
class ResolvedLaunch:
    """Everything that a launch needs, as numbers."""

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
        """The arguments that the kernel has a parameter for, in their order."""
        return tuple(each for each in self.arguments if each.argument.passed)


def resolve(table: SpecTable, sizes: Mapping[str, int]) -> ResolvedLaunch:
    """Work out all expressions at the given sizes; :class:`SpecError` where a value cannot be."""
    numbers = {k: v for k, v in table.compile.defines.items() if not isinstance(v, str)}
    names: dict[str, Number] = {**numbers, **sizes}
    grid = _dim3(table.grid, names, MAX_GRID, "blocks of the grid")
    block = _dim3(table.block, names, MAX_BLOCK, "threads of a block")
    if math.prod(block) > MAX_THREADS:
        raise SpecError(
            f"a block of {_shown(block)} has {math.prod(block)} threads; "
            f"every GPU allows {MAX_THREADS} at most",
            where=table.block[0].where,
            hint="make the block smaller",
        )
    arrays = {
        argument.name: ResolvedArray(
            argument,
            index,
            tuple(whole(e, names, 1) for e in argument.shape),
            None if argument.limit is None else whole(argument.limit, names, 1),
        )
        for index, argument in enumerate(table.arguments)
        if argument.shape is not None
    }
    return ResolvedLaunch(
        grid=grid,
        block=block,
        shared_bytes=whole(table.launch.shared_bytes, names, 0),
        sizes=dict(sizes),
        arguments=tuple(
            _argument(each, index, arrays, names) for index, each in enumerate(table.arguments)
        ),
        flops=_amount(table.flops, names),
        min_bytes=_amount(table.min_bytes, names),
        cluster=_cluster(table.launch.cluster, grid, names),
    )


def _argument(
    argument: Argument,
    index: int,
    arrays: Mapping[str, ResolvedArray],
    names: Mapping[str, Number],
) -> ResolvedArgument:
    if argument.value is not None:
        return ResolvedScalar(argument, index, _scalar(argument.element, argument.value, names))
    if argument.members is not None:

        def number(type_name: str, expression: Expression) -> Number:
            return _scalar(type_name, expression, names)

        return ResolvedStructure(argument, index, layout(argument.members, number, argument.name))
    if argument.tensor_map is None:
        return arrays[argument.name]
    array = arrays[argument.tensor_map.of]
    found = argument.tensor_map.resolve(array.argument.element, array.shape, names)
    return ResolvedTensorMap(argument, index, argument.tensor_map.of, found)


def _cluster(
    extents: tuple[Expression, ...] | None, grid: Dim3, names: Mapping[str, Number]
) -> Dim3 | None:
    """Blocks of a cluster, of which whole ones have to fill the grid."""
    if extents is None:
        return None
    cluster = _dim3(extents, names, (MAX_CLUSTER,) * 3, "blocks of a cluster")
    blocks = math.prod(cluster)
    where = extents[0].where
    if blocks > MAX_CLUSTER:
        raise SpecError(
            f"a cluster of {_shown(cluster)} has {blocks} blocks; no GPU has room for more than "
            f"{MAX_CLUSTER}",
            where=where,
            hint="8 are portable",
        )
    refuse_partial_clusters(grid, cluster, where)
    return cluster


def refuse_partial_clusters(grid: Dim3, cluster: Dim3, where: str | None) -> None:
    """Raise :class:`SpecError` for a grid that clusters do not fill."""
    for axis, blocks, part in zip("xyz", grid, cluster, strict=True):
        if blocks % part:
            raise SpecError(
                f"the grid has {count(blocks, 'block')} in {axis}, and a cluster {part}: whole "
                "clusters have to fill the grid",
                where=where,
                hint=f'round the grid up ("round_up({blocks}, {part})"); blocks beyond the data '
                "still have to take part in the barriers of their cluster",
            )


def _shown(extents: Sequence[int]) -> str:
    return "x".join(map(str, extents))


def _dim3(
    extents: tuple[Expression, ...], names: Mapping[str, Number], most: Dim3, what: str
) -> Dim3:
    found = [
        whole(extent, names, 1, limit, f" {what} in {axis}")
        for extent, limit, axis in zip(extents, most, "xyz", strict=False)
    ]
    x, y, z = (*found, 1, 1, 1)[:3]
    return x, y, z


def _amount(expression: Expression | None, names: Mapping[str, Number]) -> float | None:
    """Operations or bytes, of which there are none or more."""
    if expression is None:
        return None
    return bounded(expression, float(expression.value(names)), 0, math.inf)


def _scalar(type_name: str, expression: Expression, names: Mapping[str, Number]) -> Number:
    """A scalar's value, which has to fit its type."""
    if is_floating(type_name):
        return float(expression.value(names))
    least, most = 0, 1
    if type_name != "bool":
        values = 1 << int(type_name.removeprefix("u").removeprefix("int"))
        least = 0 if type_name.startswith("u") else -values // 2
        most = least + values - 1
    return whole(expression, names, least, most, f", which does not fit {type_name}")
