"""The reference of these kernels."""

from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def convert(readings: Floats, kinds: npt.NDArray[Any]) -> Floats:
    """The readings by the formula of their sensor's kind."""
    r = readings
    formulas = [
        2.5 * r + 1.0,
        r * (0.5 * r - 1.0),
        3.0 * np.abs(r),
        1.5 * np.maximum(r, 0.1),
        r**3 + 0.25,
        np.exp(r),
        np.sqrt(np.abs(r)),
        np.clip(4.0 * r, -1.0, 1.0),
    ]
    return np.choose(kinds.astype(np.int64)[:, None] % 8, formulas)
