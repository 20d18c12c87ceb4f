"""The reference of the kernels beside this file."""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def search(queries: Floats, passages: Floats) -> Floats:
    """The largest product of each query with one of every 128 passages."""
    largest: Floats = (passages @ queries.T).reshape(-1, 128, len(queries)).max(axis=1)
    return largest
