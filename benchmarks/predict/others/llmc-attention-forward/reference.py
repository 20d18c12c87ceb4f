"""Scaled products of queries and keys below the diagonal."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def expected(inp: Array, B: int, T: int, C: int, NH: int) -> Array:
    """The products; above the diagonal minus infinity, as the kernel has it."""
    parts = inp.reshape(B, T, 3, NH, C // NH)
    product = np.einsum("bihd,bjhd->bhij", parts[:, :, 0], parts[:, :, 1]) / np.sqrt(C / NH)
    result: Array = np.where(np.tri(T, dtype=bool), product, -np.inf)
    return result
