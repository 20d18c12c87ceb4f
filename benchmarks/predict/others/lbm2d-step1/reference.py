"""A flow around a disc."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


_SHARES = np.array([4 / 9] + [1 / 9] * 4 + [1 / 36] * 4)
_WAYS = ((1, 0), (0, 1), (1, 1), (-1, 1))


def obstacle(shape: tuple[int, ...]) -> Array:
    """A disc in the middle of the first quarter."""
    height, width = shape
    row, col = np.ogrid[:height, :width]
    return (row - height / 2) ** 2 + (col - width / 4) ** 2 < (height / 10) ** 2


def boundary(shape: tuple[int, ...]) -> Array:
    """Where the next cell in each of four directions is the obstacle: 1, or -1 behind."""
    there = np.pad(obstacle(shape[1:]), 1)
    height, width = shape[1:]
    found = np.zeros(shape, np.int32)
    for way, (dx, dy) in enumerate(_WAYS):
        ahead = there[1 + dy : 1 + dy + height, 1 + dx : 1 + dx + width]
        behind = there[1 - dy : 1 - dy + height, 1 - dx : 1 - dx + width]
        found[way] = np.where(behind, -1, np.where(ahead, 1, 0))
    return found


def populations(shape: tuple[int, ...]) -> Array:
    """Nearly at rest."""
    noise = np.random.default_rng(1).uniform(0.99, 1.01, shape)
    return _SHARES[:, None, None] * noise


def ones(shape: tuple[int, ...]) -> Array:
    """The density at rest."""
    return np.ones(shape)
