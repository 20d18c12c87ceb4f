"""The reference of the kernels beside this file."""

from math import comb
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def blur(padded: Array, width: int, height: int) -> Array:
    """Binomial weights of 15 taps along the columns, then along the rows."""
    weights = [comb(14, k) / 2**14 for k in range(15)]
    down = np.zeros((height, width + 14))
    for k, weight in enumerate(weights):
        down += weight * padded[k : k + height]
    out = np.zeros((height, width))
    for k, weight in enumerate(weights):
        out += weight * down[:, k : k + width]
    return out
