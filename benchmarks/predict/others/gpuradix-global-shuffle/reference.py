"""What sorting each block by two bits leaves."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


@cache
def _sorted(n: int) -> tuple[Array, Array, Array]:
    data = np.random.default_rng(1).integers(0, 1 << 27, (n // 128, 128), np.uint32)
    data = np.take_along_axis(data, np.argsort(data & 3, axis=1, kind="stable"), 1)
    counts = np.stack([np.sum(data & 3 == digit, axis=1) for digit in range(4)])
    before = np.cumsum(counts, axis=0) - counts
    prefix = np.arange(128)[None] - np.take_along_axis(before.T, (data & 3).astype(np.int64), 1)
    scanned = np.cumsum(counts.ravel()) - counts.ravel()
    return data.ravel(), prefix.ravel(), scanned


def sorted_locally(shape: tuple[int, ...]) -> Array:
    """Numbers, those of a block in the order of their digits."""
    return _sorted(shape[0])[0]


def prefix_sums(shape: tuple[int, ...]) -> Array:
    """How many of a block have the same digit and come first."""
    return _sorted(shape[0])[1]


def scanned(shape: tuple[int, ...], n: int) -> Array:
    """Where each block's numbers with a digit begin."""
    return _sorted(n)[2].reshape(shape)
