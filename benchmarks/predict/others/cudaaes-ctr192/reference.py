"""How much each thread does."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def each(shape: tuple[int, ...], each: int) -> Array:
    """The same for all threads."""
    return np.full(shape, each, np.uint64)
