"""The reference of these kernels."""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def descend(gradients: Floats, weights: Floats, rate: float) -> Floats:
    """The weights after a step against the gradients."""
    return weights - rate * gradients
