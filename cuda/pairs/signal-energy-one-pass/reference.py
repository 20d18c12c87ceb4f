"""The reference of this kernel."""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def energy(signal: Floats) -> Floats:
    """The sum of the squares."""
    return np.array([signal @ signal])
