"""How many numbers are odd, and sums of odd and even ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def expected(inputArr: Array) -> tuple[Array, Array]:
    """A count and two sums."""
    odd = inputArr % 2 == 1
    return np.array([odd.sum()]), np.array([inputArr[odd].sum(), inputArr[~odd].sum()])
