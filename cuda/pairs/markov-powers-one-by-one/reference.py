"""The inputs and the reference of the kernels beside this file."""

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def transitions(shape: tuple[int, ...]) -> Array:
    """Probabilities of going from one state to another: rows of sum one."""
    weights = np.random.default_rng(21).random(shape, dtype=np.float32) ** 4
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True))


def steps_of_chains(transitions: Array) -> Array:
    """The 64th power of each matrix."""
    return np.asarray(np.linalg.matrix_power(transitions, 64))
