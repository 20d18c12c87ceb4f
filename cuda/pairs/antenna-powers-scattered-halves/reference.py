"""The reference of these kernels."""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def powers_by_frame(samples: Floats) -> Floats:
    """The sum of squares of each antenna's samples, a row for each frame."""
    powers: Floats = (samples**2).sum(axis=1).reshape(-1, 32)
    return powers


def powers_by_antenna(samples: Floats) -> Floats:
    """The same, a row for each antenna."""
    return powers_by_frame(samples).T
