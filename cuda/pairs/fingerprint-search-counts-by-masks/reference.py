"""The inputs and the reference of the kernels beside this file."""

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def sparse_bits(seed: int, shape: tuple[int, ...]) -> Array:
    """Words in which one bit of four is set."""
    random = np.random.default_rng(seed)
    words = random.integers(0, 2**32, (2, *shape), dtype=np.uint32)
    return np.asarray(words[0] & words[1])


def query(shape: tuple[int, ...]) -> Array:
    """Random fingerprints."""
    return sparse_bits(51, shape)


def candidate(shape: tuple[int, ...]) -> Array:
    """Others like them."""
    return sparse_bits(52, shape)


def search(query: Array, candidate: Array) -> Array:
    """The first candidate with the largest share of bits in common."""

    def bits(words: Array) -> Array:
        return np.unpackbits(words.astype(np.uint32).view(np.uint8), axis=1).astype(np.float64)

    mine, theirs = bits(query), bits(candidate)
    common = mine @ theirs.T
    either = mine.sum(axis=1)[:, None] + theirs.sum(axis=1) - common
    return np.asarray((common / either).argmax(axis=1))
