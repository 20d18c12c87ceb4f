"""The discrete cosine transform of tiles of eight by eight."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def expected(src: Array) -> Array:
    """Each tile between the matrix of the transform and its transpose."""
    place = np.arange(8)
    matrix = np.cos((2 * place + 1) * place[:, None] * np.pi / 16) / 2
    matrix[0] /= np.sqrt(2)
    height, width = src.shape
    tiles = src.reshape(height // 8, 8, width // 8, 8)
    result: Array = np.einsum("ij,ajbk,lk->aibl", matrix, tiles, matrix).reshape(src.shape)
    return result
