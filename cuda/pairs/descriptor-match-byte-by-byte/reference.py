"""The inputs and the reference of the kernels beside this file."""

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def query(shape: tuple[int, ...]) -> Array:
    """Random descriptors, four bytes in a word."""
    return np.random.default_rng(43).integers(0, 2**32, shape, dtype=np.uint32)


def candidate(shape: tuple[int, ...]) -> Array:
    """Others like them."""
    return np.random.default_rng(44).integers(0, 2**32, shape, dtype=np.uint32)


def match(query: Array, candidate: Array) -> Array:
    """The smallest distance, shifted by 16, and the first candidate that has it."""
    theirs = candidate.astype(np.uint32).view(np.uint8).astype(np.int16)
    best = np.empty(len(query), np.uint64)
    for i, mine in enumerate(query.astype(np.uint32).view(np.uint8).astype(np.int16)):
        distance = np.abs(theirs - mine).sum(axis=1)
        nearest = int(distance.argmin())
        best[i] = int(distance[nearest]) << 16 | nearest
    return best
