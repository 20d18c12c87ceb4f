"""The reference of these kernels."""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def mean(coefficients: Floats, threads: int, points: int) -> Floats:
    """The mean of the polynomial over each thread's points."""
    x = np.uint64(0x330E) + np.uint64(0x10000) * np.arange(threads, dtype=np.uint64)
    total = np.zeros(threads)
    for _ in range(points):
        x = (x * np.uint64(0x5DEECE66D) + np.uint64(11)) % np.uint64(2**48)
        total += np.polynomial.polynomial.polyval((x >> np.uint64(16)) / 2**32, coefficients)
    return total / points
