"""Sums of what stands before each element, for arrays of 1024 elements."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def expected(d_Src: Array) -> Array:
    """The sums."""
    rows = d_Src.reshape(-1, 1024).astype(np.int64)
    return (np.cumsum(rows, axis=1) - rows).ravel()
