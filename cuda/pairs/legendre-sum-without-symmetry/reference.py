"""The reference of the kernels beside this file."""

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def legendre_sum(x: Array, coefficients: Array) -> Array:
    """Sum of coefficients times Legendre polynomials, north and south."""
    return np.asarray(np.polynomial.legendre.legval(np.stack([x, -x]), coefficients))
