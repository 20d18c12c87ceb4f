"""A matrix product on tensor cores."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

Array = npt.NDArray[Any]


def expected(a: Array, b: Array, c: Array, alpha: float, beta: float) -> Array:
    """Alpha times the product, the second factor stored transposed, plus beta times a matrix."""
    result: Array = alpha * (a @ b.T) + beta * c
    return result
