"""Inputs that several specifications name."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def tokens(shape: tuple[int, ...], V: int) -> Array:
    """Numbers of tokens, below the vocabulary's size."""
    return np.random.default_rng(5).integers(0, V, shape)


def shares(shape: tuple[int, ...]) -> Array:
    """Probabilities, none of them zero."""
    return np.random.default_rng(6).uniform(0.01, 1, shape)


def shuffled(shape: tuple[int, ...]) -> Array:
    """Each number below a size once."""
    return np.random.default_rng(1).permutation(shape[0])


def bits(shape: tuple[int, ...]) -> Array:
    """Words of 32 random bits."""
    return np.random.default_rng(1).integers(0, 1 << 32, shape, np.uint32)
