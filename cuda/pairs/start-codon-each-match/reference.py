"""Reads of DNA from two samples, and the start codons in each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]


def bases(shape: tuple[int, ...]) -> Array:
    """Letters of the four bases, each as likely as the others."""
    letters = np.frombuffer(b"ACGT", dtype=np.uint8)
    return letters[np.random.default_rng(11).integers(0, 4, shape, dtype=np.uint8)]


def samples(shape: tuple[int, ...]) -> Array:
    """The first half of the reads is of sample 0, the second of sample 1."""
    reads = shape[0]
    return np.arange(reads) * 2 // reads


def start_codons(bases: Array, sample: Array, counts: Array) -> Array:
    """Occurrences of ATG, by sample."""
    match = (bases[:, :-2] == ord("A")) & (bases[:, 1:-1] == ord("T")) & (bases[:, 2:] == ord("G"))
    per_read = match.sum(axis=1)
    return counts + np.bincount(sample, weights=per_read, minlength=2).astype(np.int64)
