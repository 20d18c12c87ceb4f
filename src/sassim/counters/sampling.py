"""Sampling of a grid: the blocks that are run, and estimates for all from them.

Blocks at the edges of a grid often do less, or more, than those inside. So each edge, each corner
and the inside are sampled by themselves: a few blocks each, at equal distances.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sassim.interpreter.lanes import Array

    Dim3 = tuple[int, int, int]

_SURE: Final = 3.0
"""Standard errors of the interval around a total: more than 99 % of totals, were they normal."""

_MOST_STRATA: Final = 24
_LEAST: Final = 3
"""Blocks of a region that do not suffice to estimate a variance."""


@dataclass(frozen=True, slots=True)
class GridRegion:
    """Blocks of a grid that are sampled together: an edge, a corner, or the inside."""

    ranges: tuple[range, range, range]

    @property
    def count(self) -> int:
        """How many blocks it has."""
        return math.prod(len(each) for each in self.ranges)

    def numbers(self, places: Array, grid: Dim3) -> Array:
        """Numbers in the grid of the blocks at some places of the part."""
        x, y, _ = (len(each) for each in self.ranges)
        at = (places % x, places // x % y, places // (x * y))
        first = [each.start for each in self.ranges]
        column, row, layer = (start + offset for start, offset in zip(first, at, strict=True))
        numbers: Array = column + grid[0] * (row + grid[1] * layer)
        return numbers


def grid_regions(grid: Dim3) -> list[GridRegion]:
    """The corners, edges, faces and the inside of a grid, those that have blocks."""
    axes = []
    for extent in grid:
        edges = [range(1), range(1, extent - 1), range(extent - 1, extent)]
        axes.append([each for each in (edges if extent > 1 else edges[:1]) if len(each)])
    return [GridRegion((x, y, z)) for x, y, z in product(*axes)]


@dataclass(frozen=True)
class Sample:
    """Blocks that are run, grouped by region."""

    grid: Dim3
    blocks: Array
    """Numbers of the blocks."""
    counts: tuple[tuple[int, int], ...]
    """For each part how many blocks are run, and how many there are."""
    together: int = 1
    """Blocks of a cluster: all of them are run, one after the other, or none."""
    strata: int = 0
    """How many of the last regions are groups of :func:`add_strata`."""

    @property
    def complete(self) -> bool:
        """Whether every block is run."""
        return all(some == every for some, every in self.counts)

    def total(self, values: Array) -> tuple[float, float, float]:
        """Return the sum over the whole grid, and its interval, from a count of each block.

        Blocks of a region are at equal distances, so differences between neighbours estimate the
        error (von Neumann's estimate of a variance); a part whose blocks are all alike is
        taken to be so everywhere.
        """
        total = sum(every * float(region.mean()) for region, every in self._by_region(values))
        margin = self.margin(values)
        return total, max(0.0, total - margin), total + margin

    def margin(self, values: Array) -> float:
        """How far the sum may be off to either side."""
        variance = 0.0
        regions = list(self._by_region(values))
        alike = np.concatenate([each for each, _ in regions[: len(regions) - self.strata]])
        for number, (region, every) in enumerate(regions):
            some = len(region)
            if some * self.together == every:
                continue
            if some < _LEAST:
                few = region if number >= len(regions) - self.strata else alike
                variance += (every * float(few.std())) ** 2
                continue
            single = float((np.diff(region) ** 2).mean()) / 2
            variance += every**2 * (1 - some * self.together / every) * single / some
        return _SURE * math.sqrt(variance)

    def _means_of_units(self, values: Array) -> Array:
        means: Array = values.astype(np.float64).reshape(-1, self.together).mean(axis=1)
        return means

    def _by_region(self, values: Array) -> Iterator[tuple[Array, int]]:
        """Return the counts of each region, as :meth:`_units`, and its number of blocks."""
        units, start = self._means_of_units(values), 0
        for some, every in self.counts:
            end = start + some // self.together
            yield units[start:end], every
            start = end


def sample_blocks(grid: Dim3, most: int, cluster: Dim3 | None = None) -> Sample:
    """At most so many blocks of a grid, all of them where it has no more; at least one a part.

    Of a grid of clusters, whole clusters.
    """
    if cluster is not None and math.prod(cluster) > 1:
        return _sample_clusters(grid, most, cluster)
    everything = math.prod(grid)
    if everything <= most:
        return Sample(grid, np.arange(everything), ((everything, everything),))
    chosen = grid_regions(grid)
    run = _divide_blocks([region.count for region in chosen], most)
    blocks = []
    for region, some in zip(chosen, run, strict=True):
        # The middles of equal stretches, moved a little: a step that fits the grid's own period
        # would take the same column again and again.
        step = region.count / some
        moved = _golden_offsets(some) * (1 - 1 / step)
        places = np.floor((np.arange(some) + moved) * step).astype(np.int64)
        blocks.append(region.numbers(np.minimum(places, region.count - 1), grid))
    counts = tuple(zip(run, (region.count for region in chosen), strict=True))
    return Sample(grid, np.concatenate(blocks), counts)


def add_strata(sample: Sample, groups: Iterable[tuple[Array, Array]]) -> tuple[Sample, bool]:
    """Sample groups of blocks that a sample has none of as regions of their own.

    A group is whether each block of the grid belongs to it, and a number of each by which it is
    sampled: the least, the largest and one between. Returns also whether there was room for all.
    """
    whole = True
    groups = list(groups)
    if not groups:
        return sample, whole
    every = np.array([count for _, count in sample.counts])
    numbers = np.arange(math.prod(sample.grid))
    free = np.ones(len(numbers), np.bool_)
    blocks = [sample.blocks]
    counts: list[tuple[int, int]] = []
    regions = regions_of(numbers, sample.grid)
    # The smallest first: an outcome of two conditions lies inside of those of each.
    for group, order in sorted(groups, key=lambda each: int(each[0].sum())):
        members = np.flatnonzero(group & free)
        if not len(members):
            continue
        if len(counts) >= _MOST_STRATA:
            whole = False
            break
        free[members] = False
        inside = members[np.argsort(order[members], kind="stable")]
        picked = np.unique(inside[[0, len(inside) // 2, -1]])
        blocks.append(picked)
        counts.append((len(picked), len(members)))
        every -= np.bincount(regions[members], minlength=len(every))
    left = ((some, int(count)) for (some, _), count in zip(sample.counts, every, strict=True))
    chosen = Sample(sample.grid, np.concatenate(blocks), (*left, *counts), strata=len(counts))
    return chosen, whole


def regions_of(numbers: Array, grid: Dim3) -> Array:
    """Return the region of each block, by its number among :func:`grid_regions`."""
    region: Array = np.zeros(len(numbers), np.int64)
    for place, extent in zip(_coordinates_of_blocks(numbers, grid), grid, strict=True):
        axis = np.where(place == 0, 0, np.where(place < extent - 1, 1, min(extent, 3) - 1))
        # Without blocks inside there are two regions along an axis, with one block there is one.
        region = region * min(extent, 3) + axis
    return region


def _sample_clusters(grid: Dim3, most: int, cluster: Dim3) -> Sample:
    size = math.prod(cluster)
    clusters = (grid[0] // cluster[0], grid[1] // cluster[1], grid[2] // cluster[2])
    chosen = sample_blocks(clusters, max(most // size, 1))
    first = _coordinates_of_blocks(chosen.blocks, clusters)
    inside = _coordinates_of_blocks(np.arange(size), cluster)
    x, y, z = (
        (each[:, None] * extent + within[None, :]).reshape(-1)
        for each, extent, within in zip(first, cluster, inside, strict=True)
    )
    counts = tuple((some * size, every * size) for some, every in chosen.counts)
    return Sample(grid, x + grid[0] * (y + grid[1] * z), counts, size)


def _coordinates_of_blocks(numbers: Array, grid: Dim3) -> tuple[Array, Array, Array]:
    """Along each axis where blocks of a grid are, by their numbers."""
    x, y, _ = grid
    return numbers % x, numbers // x % y, numbers // (x * y)


def _golden_offsets(some: int) -> Array:
    """Where in its stretch each block is picked: a golden-ratio sequence, the same every time."""
    golden = (math.sqrt(5) - 1) / 2
    return (0.5 + golden * np.arange(some)) % 1.0


def _divide_blocks(counts: list[int], most: int) -> list[int]:
    """How many blocks of each part: by the root of its size, at least one, at most all."""
    weights = [math.sqrt(count) for count in counts]
    whole = sum(weights)
    spare = max(0, most - len(counts))
    shares = [
        max(1, min(count, 1 + int(spare * weight / whole)))
        for count, weight in zip(counts, weights, strict=True)
    ]
    # So that no two places of a part are the same.
    return [
        count if share * 2 > count else share for share, count in zip(shares, counts, strict=True)
    ]
