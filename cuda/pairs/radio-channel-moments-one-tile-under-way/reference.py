"""The reference of these kernels."""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def channel_moments(spectra: Floats) -> Floats:
    """The sums of the first four powers down each column."""
    return np.stack([(spectra**power).sum(axis=0) for power in range(1, 5)])
