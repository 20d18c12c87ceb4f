"""A matrix product with a bias."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

Array = npt.NDArray[Any]


def expected(inp: Array, weight: Array, bias: Array) -> Array:
    """Each output channel of each row."""
    result: Array = inp @ weight.T + bias
    return result
