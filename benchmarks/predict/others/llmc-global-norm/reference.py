"""The square of a norm."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def expected(data: Array) -> Array:
    """The sum of squares."""
    return np.array([(data**2).sum()])
