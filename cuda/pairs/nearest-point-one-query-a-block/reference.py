"""What the kernels beside this file have to return."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[np.float64]


def nearest_distance(points: Array, queries: Array) -> Array:
    """Distance from each query to the nearest point of each shard; a shard's points are columns."""
    nearest = []
    for shard in points:
        products = queries @ shard
        squares = (queries**2).sum(axis=1)[:, None] + (shard**2).sum(axis=0) - 2 * products
        nearest.append(np.sqrt(squares.min(axis=1)))
    return np.stack(nearest, axis=1)
