"""The reference of the kernels beside this file."""

from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def density(coefficients: Array, temperature: Array, salinity: Array, pressure: Array) -> Array:
    """All terms up to the sixth degree, the last exponent counting fastest."""
    exponents = (e for e in product(range(7), repeat=3) if sum(e) <= 6)
    total = np.zeros_like(temperature)
    for c, (i, j, k) in zip(coefficients, exponents, strict=True):
        total += c * temperature**i * salinity**j * pressure**k
    return total
