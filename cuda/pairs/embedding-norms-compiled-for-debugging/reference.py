"""The reference of the kernels beside this file."""

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def norms(rows: Array, width: int) -> Array:
    """The Euclidean length of every row."""
    return np.sqrt((rows.astype(np.float64) ** 2).sum(axis=1))
