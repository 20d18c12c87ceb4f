"""The keys and the reference of this kernel."""

from typing import Any

import numpy as np
import numpy.typing as npt


def keys(shape: tuple[int, ...]) -> npt.NDArray[np.uint64]:
    """Keys from the whole range of 64 bits."""
    return np.random.default_rng(0).integers(0, 2**64, shape, dtype=np.uint64)


def count_digits(keys: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """How often each value of the top byte occurs."""
    digits = (keys.ravel() >> np.uint64(56)).astype(np.int64)
    return np.bincount(digits, minlength=256)
