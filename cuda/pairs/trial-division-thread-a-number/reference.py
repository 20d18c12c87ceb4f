"""Smallest factors of odd numbers."""

from __future__ import annotations

from math import isqrt
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]


def factors(NUMBERS: int, FIRST: int) -> Array:  # noqa: N803
    """The smallest factor of each odd number from ``FIRST`` on, itself for a prime."""
    numbers = FIRST + 2 * np.arange(NUMBERS)
    found = numbers.copy()
    for divisor in range(isqrt(int(numbers[-1])) | 1, 2, -2):
        found[(numbers % divisor == 0) & (numbers > divisor)] = divisor
    return found
