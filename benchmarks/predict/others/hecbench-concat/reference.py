"""Two arrays, one behind the other along their middle axis."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def expected(inp1: Array, inp2: Array) -> Array:
    """The joined array."""
    return np.concatenate([inp1, inp2], axis=1)
