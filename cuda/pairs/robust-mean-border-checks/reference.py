"""A mean of neighbours in which outliers do not count."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]


REACH = 3


def smooth(image: Floats, inverse: float) -> Floats:
    """Tukey's biweight around each pixel, of the neighbours that exist."""
    padded = np.pad(image, REACH, constant_values=np.inf)
    weights = np.zeros_like(image)
    total = np.zeros_like(image)
    height, width = image.shape
    for down in range(2 * REACH + 1):
        for right in range(2 * REACH + 1):
            value = padded[down : down + height, right : right + width]
            known = np.isfinite(value)
            value = np.where(known, value, 0.0)
            near = 1.0 - ((value - image) * inverse) ** 2
            weight = np.where(known, near * near, 0.0)
            weights += weight
            total += weight * value
    return total / weights
