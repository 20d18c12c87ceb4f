"""The largest number of each bucket."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def buckets(shape: tuple[int, ...]) -> Array:
    """One of five."""
    return np.random.default_rng(2).integers(0, 5, shape)


def values(shape: tuple[int, ...]) -> Array:
    """Large numbers."""
    return np.random.default_rng(3).integers(0, 1 << 31, shape)


def expected(srcArr: Array, valueInBuckets: Array) -> Array:
    """Five numbers."""
    return np.array([valueInBuckets[srcArr == bucket].max() for bucket in range(5)])
