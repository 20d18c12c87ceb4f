"""What the kernels beside this file have to return."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[np.float64]


def warp_distance(candidates: Array, query: Array) -> Array:
    """Cost of the cheapest alignment of each candidate, a column, with the query."""
    length, count = candidates.shape
    above = np.full((length + 1, count), np.inf)
    above[0] = 0
    for wanted in query:
        row = np.full((length + 1, count), np.inf)
        for j in range(length):
            step = np.minimum(np.minimum(above[j + 1], above[j]), row[j])
            row[j + 1] = np.abs(candidates[j] - wanted) + step
        above = row
    return np.asarray(above[length], dtype=np.float64)
