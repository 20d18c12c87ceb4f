"""The reference of the kernels beside this file."""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def convolve(images: Floats, filters: Floats) -> Floats:
    """A convolution of 3 x 3 with zeros around each image."""
    _, height, width, channels = images.shape
    wide = np.pad(images, ((0, 0), (1, 1), (1, 1), (0, 0)))
    taps = filters.reshape(-1, 9, channels)
    total = np.zeros((*images.shape[:3], len(filters)))
    for tap in range(9):
        y, x = divmod(tap, 3)
        total += wide[:, y : y + height, x : x + width] @ taps[:, tap].T
    return total
