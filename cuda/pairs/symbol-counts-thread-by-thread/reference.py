"""How often each of 16 symbols comes."""

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]


def count_symbols(symbols: Integers) -> Integers:
    """The histogram."""
    return np.bincount(symbols, minlength=16)
