"""Exposures stacked without their outliers."""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def stack_frames(frames: Floats) -> Floats:
    """The mean of the middle half of each pixel's values."""
    quarter = len(frames) // 4
    middle: Floats = np.sort(frames, axis=0)[quarter:-quarter].mean(axis=0)
    return middle
