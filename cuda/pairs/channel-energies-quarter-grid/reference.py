"""The references of these kernels."""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def energies(signal: Floats) -> Floats:
    """The sum of squares of each row."""
    energy: Floats = (signal * signal).sum(axis=1)
    return energy


def energies_interleaved(signal: Floats) -> Floats:
    """The same for columns."""
    return energies(signal.T)
