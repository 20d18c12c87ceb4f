"""What the kernels beside this file have to return."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[np.float64]


def low_pass(samples: Array, weight: float) -> Array:
    """Exponential smoothing of each channel, from a level of zero."""
    smooth = np.empty_like(samples)
    level = np.zeros(samples.shape[1])
    for time, now in enumerate(samples):
        level = level + weight * (now - level)
        smooth[time] = level
    return smooth
