"""Sobol's sequence in the order of Gray's code."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def directions(shape: tuple[int, ...]) -> Array:
    """Random numbers, the n-th with its n-th bit the last one set: each sequence is a net."""
    numbers = np.random.default_rng(1).integers(0, 1 << 32, shape, np.uint32)
    bit = np.uint32(1) << np.arange(31, -1, -1, dtype=np.uint32)
    result: Array = numbers & ~(bit - np.uint32(1)) | bit
    return result


def expected(d_directions: Array, n_vectors: int) -> Array:
    """The n-th vector is the exclusive or of the directions of the bits of n's Gray code."""
    code = np.arange(n_vectors)
    code ^= code >> 1
    found = np.zeros((len(d_directions), n_vectors), np.uint32)
    for bit in range(32):
        found ^= np.where(code >> bit & 1, d_directions[:, bit, None], 0).astype(np.uint32)
    return found * 2.0**-32
