"""GELU by its approximation with tanh."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def expected(inp: Array) -> Array:
    """One value for each input."""
    inner = np.sqrt(2 / np.pi) * (inp + 0.044715 * inp**3)
    result: Array = 0.5 * inp * (1 + np.tanh(inner))
    return result
