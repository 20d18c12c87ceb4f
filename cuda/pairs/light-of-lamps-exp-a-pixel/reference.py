"""The inputs and the reference of the kernels beside this file."""

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def lamp(shape: tuple[int, ...], width: int, height: int) -> Array:
    """Place, power and the reciprocal of the reach of each lamp."""
    random = np.random.default_rng(31)
    count = shape[0]
    reach = random.uniform(0.1, 0.5, count) * width
    x, y = random.uniform(0, width, count), random.uniform(0, height, count)
    return np.stack([x, y, random.uniform(0.5, 2.0, count), 1.0 / reach], axis=-1)


def light(lamp: Array, width: int, height: int) -> Array:
    """Sum of the lamps' light at every pixel."""
    x, y, power, narrow = lamp.T
    along_x = np.exp(-(((np.arange(width)[:, None] - x) * narrow) ** 2))
    along_y = np.exp(-(((np.arange(height)[:, None] - y) * narrow) ** 2))
    return np.asarray((along_y * power) @ along_x.T)
