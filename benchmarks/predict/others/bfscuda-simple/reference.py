"""A random graph without weights, searched up to a level."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

UNSET = 0x7FFFFFFF


@cache
def _graph(n: int, m: int) -> tuple[Array, Array, Array]:
    ends = np.random.default_rng(12345).integers(0, n, (2, m), np.int32)
    start, end = np.concatenate(ends), np.concatenate(ends[::-1])
    degree = np.bincount(start, minlength=n)
    return end[np.argsort(start, kind="stable")], np.cumsum(degree) - degree, degree


@cache
def _distances(n: int, m: int, level: int) -> Array:
    ends, _, degree = _graph(n, m)
    start = np.repeat(np.arange(n), degree)
    found = np.full(n, UNSET, np.int32)
    found[0] = 0
    for each in range(level):
        reached = ends[found[start] == each]
        found[reached[found[reached] == UNSET]] = each + 1
    return found


def adjacency(n: int, m: int) -> Array:
    """The other ends of each vertex's edges."""
    return _graph(n, m)[0]


def offsets(shape: tuple[int, ...], m: int) -> Array:
    """Where each vertex's edges begin."""
    return _graph(shape[0], m)[1]


def degrees(shape: tuple[int, ...], m: int) -> Array:
    """How many edges each vertex has."""
    return _graph(shape[0], m)[2]


def distances(shape: tuple[int, ...], m: int, level: int) -> Array:
    """Of the vertices up to the level; others are not reached yet."""
    return _distances(shape[0], m, level)


def unset(shape: tuple[int, ...]) -> Array:
    """What marks vertices that are not reached yet."""
    return np.full(shape, UNSET, np.int32)


def frontier(shape: tuple[int, ...], m: int, level: int) -> Array:
    """The vertices of the level, then zeros."""
    queue = np.zeros(shape, np.int32)
    there = np.flatnonzero(_distances(shape[0], m, level) == level)
    queue[: there.size] = np.random.default_rng(2).permutation(there)
    return queue
