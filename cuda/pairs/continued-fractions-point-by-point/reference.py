"""Continued fractions, and their means over some points."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]


def fractions(shape: tuple[int, ...]) -> Floats:
    """Levels of half to two."""
    drawn = np.random.default_rng(43).random(shape, dtype=np.float32)
    return (0.5 + 1.5 * drawn).astype(np.float64)


def points(shape: tuple[int, ...]) -> Floats:
    """Points of the unit interval."""
    return np.random.default_rng(44).uniform(0.0, 1.0, shape)


def integrate(fractions: Floats, points: Floats) -> Floats:
    """The mean of each fraction over the points."""
    value = np.broadcast_to(fractions[-1], (len(points), fractions.shape[1]))
    for level in fractions[-2::-1]:
        value = level + points[:, None] / value
    means: Floats = value.mean(axis=0)
    return means
