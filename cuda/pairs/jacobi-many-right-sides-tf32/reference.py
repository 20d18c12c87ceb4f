"""The inputs and the reference of the kernels beside this file."""

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def matrix(shape: tuple[int, ...]) -> Array:
    """A matrix that shrinks every vector to three quarters at most."""
    raw = np.random.default_rng(22).standard_normal(shape)
    return np.asarray(raw * 0.75 / np.linalg.norm(raw, 2))


def jacobi(matrix: Array, right: Array, iterations: int) -> Array:
    """Start from the right-hand side and iterate."""
    x = right
    for _ in range(int(iterations)):
        x = x @ matrix + right
    return x
