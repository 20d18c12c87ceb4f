"""The reference of these kernels."""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def integrate(start: Floats, leak: Floats, drive: Floats, steps: int) -> Floats:
    """The cells after all steps, in closed form."""
    keep = (np.float32(0.005) * leak.astype(np.float32) + np.float32(0.99)).astype(np.float64)
    rest = drive / (1.0 - keep)
    end: Floats = rest + (start - rest) * keep**steps
    return end
