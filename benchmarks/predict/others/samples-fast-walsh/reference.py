"""The Walsh transform of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def expected(d_Input: Array) -> Array:
    """Sums and differences of halves, eleven times."""
    values = d_Input
    for level in range(11):
        pairs = values.reshape(len(values), -1, 2, 1 << level)
        first, second = pairs[:, :, 0], pairs[:, :, 1]
        values = np.stack([first + second, first - second], axis=2).reshape(d_Input.shape)
    return values
