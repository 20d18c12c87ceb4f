"""An empty table."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def empty(shape: tuple[int, ...]) -> Array:
    """What marks slots without a key."""
    return np.full(shape, 0xFFFFFFFF, np.uint32)
