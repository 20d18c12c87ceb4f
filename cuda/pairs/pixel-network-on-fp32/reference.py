"""The inputs and the reference of the kernels beside this file."""

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def weights(shape: tuple[int, ...]) -> Array:
    """Uniform weights that keep the signal's size from layer to layer."""
    bound = float(np.sqrt(6 / shape[-1]))
    return np.random.default_rng(11).uniform(-bound, bound, shape)


def biases(shape: tuple[int, ...]) -> Array:
    """Small biases."""
    return np.random.default_rng(12).uniform(-0.2, 0.2, shape)


def network(features: Array, weights: Array, biases: Array) -> Array:
    """Every layer's weights, its bias, and zero for what is negative."""
    values = features
    for weight, bias in zip(weights, biases, strict=True):
        values = np.maximum(weight @ values + bias[:, None], 0.0)
    return values
