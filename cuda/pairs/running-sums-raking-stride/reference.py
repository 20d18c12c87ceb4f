"""Running sums along signals."""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def running_sums(signals: Floats) -> Floats:
    """The sum of each signal up to and with every sample."""
    return np.cumsum(signals, axis=1)
