"""Which new vertex each old one becomes."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def clusters(shape: tuple[int, ...]) -> Array:
    """Numbers that grow, several vertices each."""
    return np.cumsum(np.random.default_rng(2).integers(0, 2, shape))


def expected(clusteredVerticesIDs: Array, newVerticesIDs: Array) -> Array:
    """The mapping."""
    mapping = np.empty_like(newVerticesIDs)
    mapping[clusteredVerticesIDs] = newVerticesIDs
    return mapping
