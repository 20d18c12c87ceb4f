"""The reference of these kernels."""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def window_energies(trace: Floats, taps: Floats) -> Floats:
    """The energy of the filtered trace in windows of 128 samples."""
    filtered = np.correlate(trace, taps)[: len(trace) - 32]
    energies: Floats = (filtered**2).reshape(-1, 128).sum(axis=1)
    return energies
