"""Products of matrices with their own transposes."""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def gram(windows: Floats) -> Floats:
    """Each matrix times its transpose: the scalar products of its rows."""
    products: Floats = windows @ windows.transpose(0, 2, 1)
    return products
