"""What the kernels beside this file have to return."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[np.float64]


def calibrate(coefficients: Array, samples: Array) -> Array:
    """The value of each channel's polynomial, lowest power first, at its samples."""
    corrected = np.zeros_like(samples)
    for row in coefficients[::-1]:
        corrected = corrected * samples + row
    return np.asarray(corrected, dtype=np.float64)
