"""What the kernels beside this file have to return."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[np.float64]


def invert(matrices: Array, ridge: float) -> Array:
    """Inverses of the matrices with the ridge added to their diagonals."""
    return np.asarray(np.linalg.inv(matrices + ridge * np.eye(32)), dtype=np.float64)
