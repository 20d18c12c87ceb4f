"""The reference of the kernels beside this file."""

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def spectrum(time: Array, value: Array, frequencies: int, step: float) -> Array:
    """Real and imaginary part of the sum of value times e^(i omega time)."""
    terms = np.exp(1j * step * np.outer(np.arange(frequencies), time)) @ value
    return np.stack([terms.real, terms.imag], axis=-1)
