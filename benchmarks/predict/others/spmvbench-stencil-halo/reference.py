"""Rows of the five-point stencil as a matrix; all of them where no number is given."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def row_ptr(g: int, first: int = 0, rows: int = 0) -> Array:
    """Where each row begins."""
    return np.concatenate(([0], np.cumsum(_columns(g, first, rows)[1].sum(axis=1))))


def col_idx(g: int, first: int = 0, rows: int = 0) -> Array:
    """Columns in ascending order."""
    columns, there = _columns(g, first, rows)
    return columns[there]


def _columns(g: int, first: int, rows: int) -> tuple[Array, Array]:
    row = np.arange(first * g, (first + (rows or g)) * g, dtype=np.int32)
    i, j = row // g, row % g
    columns = np.stack([row - g, row - 1, row, row + 1, row + g], axis=1)
    there = np.stack([i > 0, j > 0, i >= 0, j < g - 1, i < g - 1], axis=1)
    return columns, there
