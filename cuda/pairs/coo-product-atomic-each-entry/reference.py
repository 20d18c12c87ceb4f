"""An arrow-shaped matrix in coordinate form: two dense rows, then sixteen entries in each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

DENSE = 2
SHORT = 16


def rows(N: int) -> Array:  # noqa: N803
    """The row of each entry, in rising order."""
    return np.concatenate(
        [np.repeat(np.arange(DENSE), N), np.repeat(np.arange(DENSE, N), SHORT)]
    ).astype(np.int32)


def columns(N: int) -> Array:  # noqa: N803
    """The column of each entry: a short row has a run of columns around its own."""
    run = np.arange(DENSE, N)[:, None] + np.arange(SHORT)
    return np.concatenate([np.tile(np.arange(N), DENSE), (run % N).ravel()]).astype(np.int32)


def product(rows: Array, columns: Array, values: Array, x: Array, y: Array) -> Array:
    """The matrix times ``x``, added to ``y``."""
    return y + np.bincount(rows, weights=values * x[columns], minlength=len(y))
