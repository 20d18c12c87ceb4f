"""Additions that undo each other two by two."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def expected(data: Array, nIters: int, v: float) -> Array:
    """The result of 240 subtractions a round, each rounded."""
    value, ten = data.astype(np.float32), np.float32(v)
    for _ in range(240 * nIters):
        value = ten - value
    return value
