"""Distances to nearest points."""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def nearest(queries: Floats, points: Floats) -> Floats:
    """Of each query, which is a column, to the nearest row of the points."""
    squares = (queries**2).sum(axis=0)[:, None] + (points**2).sum(axis=1)[None, :]
    apart = squares - 2 * (queries.T @ points.T)
    nearby: Floats = np.sqrt(apart.min(axis=1))
    return nearby
