"""Losses of a prediction."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def expected(probs: Array, targets: Array) -> Array:
    """The logarithm of the probability that each target was given."""
    result: Array = -np.log(np.take_along_axis(probs, targets[:, None], axis=1)[:, 0])
    return result
