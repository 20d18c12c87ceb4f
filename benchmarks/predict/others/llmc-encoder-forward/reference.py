"""Token embedding plus position embedding."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

Array = npt.NDArray[Any]


def expected(inp: Array, wte: Array, wpe: Array) -> Array:
    """The sum for each token of each sequence."""
    total: Array = wte[inp] + wpe
    return total
