"""Bags of tokens whose embedding rows are found through a table of row numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Ints = npt.NDArray[np.int64]
    Floats = npt.NDArray[np.float64]


def tokens(shape: tuple[int, ...], vocabulary: int) -> Ints:
    """Bags of 8 to 32 tokens, the rest of their places -1."""
    generator = np.random.default_rng(16)
    counts = generator.integers(8, 33, (shape[0], 1))
    drawn = generator.integers(0, vocabulary, shape)
    return np.where(np.arange(shape[1]) < counts, drawn, -1)


def rows(shape: tuple[int, ...], table_rows: int) -> Ints:
    """Several tokens share a row."""
    return np.random.default_rng(17).integers(0, table_rows, shape[0])


def sum_bags(tokens: Ints, rows: Ints, table: Floats) -> Floats:
    """The sum of the rows of each bag."""
    known = tokens >= 0
    found = table[rows[np.where(known, tokens, 0)]]
    sums: Floats = np.where(known[..., None], found, 0.0).sum(axis=1)
    return sums
