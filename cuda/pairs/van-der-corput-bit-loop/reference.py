"""The reference of the kernels beside this file."""

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def dome(threads: int, each: int) -> Array:
    """Each thread's part of the sum over the Hammersley points."""
    i = np.arange(threads * each, dtype=np.uint32)
    bits = np.zeros_like(i)
    for place in range(32):
        bits |= ((i >> np.uint32(place)) & np.uint32(1)) << np.uint32(31 - place)
    x, y = i / i.size, bits / 2.0**32
    return np.asarray(((1 - x**2) * (1 - y**2)).reshape(each, threads).sum(axis=0) / i.size)
