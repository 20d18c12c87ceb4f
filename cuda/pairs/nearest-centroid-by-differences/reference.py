"""The reference of the kernels beside this file."""

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def nearest(x: Array, c: Array) -> Array:
    """Squared distance of each point to the nearest centroid."""
    squares = (x**2).sum(axis=1)[:, None] + (c**2).sum(axis=1) - 2.0 * x @ c.T
    return np.asarray(squares.min(axis=1))
