"""The reference of the kernels beside this file."""

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def density(probe: Array, particle: Array, radius: float) -> Array:
    """Sum over all particles within the radius."""
    away = probe[:, :, None] - particle[:, :3].T[:, None, :]
    inside = np.maximum(radius**2 - (away**2).sum(axis=0), 0.0)
    return np.asarray(inside**3 @ particle[:, 3])
