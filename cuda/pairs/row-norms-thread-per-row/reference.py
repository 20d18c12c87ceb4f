"""The Euclidean lengths of a matrix's rows."""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def row_norms(matrix: Floats) -> Floats:
    """The square root of each row's sum of squares."""
    lengths: Floats = np.sqrt((matrix * matrix).sum(axis=1))
    return lengths
