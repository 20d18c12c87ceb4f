"""Particles in the order of their cells, and where each cell begins and ends."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def empty(shape: tuple[int, ...]) -> Array:
    """What marks a cell without particles."""
    return np.full(shape, 0xFFFFFFFF, np.uint32)


def hashes(shape: tuple[int, ...], cells: int) -> Array:
    """Cells in order."""
    return np.sort(np.random.default_rng(1).integers(0, cells, shape))


def expected(
    cellStart: Array,
    cellEnd: Array,
    gridParticleHash: Array,
    gridParticleIndex: Array,
    oldPos: Array,
    oldVel: Array,
) -> tuple[Array, ...]:
    """Cells' first and last particles, positions, velocities."""
    start, end = cellStart.copy(), cellEnd.copy()
    cells, first, count = np.unique(gridParticleHash, return_index=True, return_counts=True)
    start[cells], end[cells] = first, first + count
    return start, end, oldPos[gridParticleIndex], oldVel[gridParticleIndex]
