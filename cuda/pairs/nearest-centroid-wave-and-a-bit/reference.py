"""How far points are from the nearest of some centroids."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]


def distances(points: Array, centroids: Array) -> Array:
    """The smallest Euclidean distance of each point."""
    squares = (points**2).sum(axis=0)[:, None] + (centroids**2).sum(axis=1)
    nearest: Array = np.sqrt((squares - 2.0 * (points.T @ centroids.T)).min(axis=1))
    return nearest
