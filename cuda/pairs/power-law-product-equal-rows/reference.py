"""A sparse matrix with rows of power-law lengths, the longest first, and ways to cut it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

STEEPNESS = 64


def offsets(ROWS: int, NONZEROS: int) -> Array:  # noqa: N803
    """Where each row begins: a row's length falls with ``1 / (its number + ROWS / 64)``."""
    reached = np.log1p(np.arange(ROWS + 1) * (STEEPNESS / ROWS)) / np.log1p(STEEPNESS)
    begins: Array = np.floor(NONZEROS * reached + 0.5).astype(np.int32)
    return begins


def columns(ROWS: int, COLUMNS: int, NONZEROS: int) -> Array:  # noqa: N803
    """A run of columns in each row that begins anywhere."""
    begins = offsets(ROWS, NONZEROS)
    first = np.random.default_rng(61).integers(0, COLUMNS, ROWS, dtype=np.int32) - begins[:-1]
    runs = np.repeat(first, np.diff(begins)) + np.arange(NONZEROS, dtype=np.int32)
    return runs % COLUMNS


def equal_rows(ROWS: int, BLOCKS: int) -> Array:  # noqa: N803
    """Boundaries of as many rows for each block."""
    return np.arange(BLOCKS + 1) * ROWS // BLOCKS


def equal_nonzeros(ROWS: int, NONZEROS: int, BLOCKS: int) -> Array:  # noqa: N803
    """Boundaries of as many non-zeros for each block, to the nearest row."""
    shares = np.arange(BLOCKS + 1) * NONZEROS // BLOCKS
    return np.searchsorted(offsets(ROWS, NONZEROS), shares)


def product(offsets: Array, columns: Array, values: Array, x: Array) -> Array:
    """The matrix times ``x``; no row is empty."""
    return np.add.reduceat(values * x[columns], offsets[:-1])
