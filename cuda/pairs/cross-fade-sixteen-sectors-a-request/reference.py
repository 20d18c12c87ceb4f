"""The reference of these kernels."""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def cross_fade(one: Floats, other: Floats, share: float) -> Floats:
    """The mix of both tracks."""
    return share * one + (1.0 - share) * other
