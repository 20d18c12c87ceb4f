"""A matrix of coded weights times a vector."""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def gemv_codes(codes: npt.NDArray[np.int64], books: Floats, x: Floats) -> Floats:
    """Each row's weights looked up in the row's table, times the vector."""
    weights = np.take_along_axis(books, codes, axis=1)
    product: Floats = weights @ x
    return product
