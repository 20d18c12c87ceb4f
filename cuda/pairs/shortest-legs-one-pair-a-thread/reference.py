"""What the kernels beside this file have to return."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[np.float64]


def shortest(first: Array, second: Array) -> Array:
    """Least sum of a leg of the first matrix and one of the second, for each pair of nodes."""
    both = np.full_like(first, np.inf)
    for stop in range(first.shape[2]):
        np.minimum(both, first[:, :, stop, None] + second[:, None, stop, :], out=both)
    return both
