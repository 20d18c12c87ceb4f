"""Inputs and reference of these kernels."""

from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def mixed_parts(shape: tuple[int, ...]) -> npt.NDArray[np.int32]:
    """A random kind for each part."""
    return np.random.default_rng(0).integers(0, 2, shape, dtype=np.int32)


def ordered_parts(shape: tuple[int, ...]) -> npt.NDArray[np.int32]:
    """The same kinds, sorted."""
    return np.sort(mixed_parts(shape))


def cool(start: Floats, part: npt.NDArray[Any], steps: int) -> Floats:
    """The temperatures after all steps."""
    t = 1.0 + 0.5 * start
    for _ in range(steps):
        convection = ((0.31 * t + 0.17) * t + 0.43) * t - 0.25
        radiation = 0.21 * t**4 + 0.11 * t**2 - 0.19
        t = t - 0.01 * np.where(part % 2 == 0, convection, radiation)
    return t
