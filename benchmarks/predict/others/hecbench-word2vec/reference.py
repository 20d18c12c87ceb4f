"""Zeros."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def expected(size: int) -> Array:
    """As many zeros."""
    return np.zeros(size)
