"""How many points of each block lie within the unit circle."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def expected(points: Array, results: Array) -> Array:
    """The count of each block of 128 threads; each has one point."""
    square = (points.astype(np.float32) ** 2).sum(axis=0, dtype=np.float32)
    inside = np.zeros(len(results) * 128, np.int64)
    inside[: square.size] = square < 1
    result: Array = inside.reshape(-1, 128).sum(axis=1)
    return result
