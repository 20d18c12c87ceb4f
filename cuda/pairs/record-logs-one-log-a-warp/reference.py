"""Logs of records: a header with a weight and a length, then that many values."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Ints = npt.NDArray[np.int64]

WORDS = 256
LENGTHS = (1, 4, 30, 9, 17, 25, 12, 31, 6, 20, 14, 28, 3, 22, 19)  # with headers, 256 words


def _layout(count: int) -> tuple[Ints, Ints]:
    """Where each record of each log begins, and its length."""
    generator = np.random.default_rng(12)
    lengths = generator.permuted(np.tile(np.array(LENGTHS), (count, 1)), axis=1)
    return np.cumsum(lengths + 1, axis=1) - lengths - 1, lengths


def logs(shape: tuple[int, ...]) -> Ints:
    """Logs whose records have weights of 1 to 3 and values of 0 to 99."""
    count = shape[0]
    begins, lengths = _layout(count)
    generator = np.random.default_rng(13)
    words = generator.integers(0, 100, shape, dtype=np.int32).astype(np.int64)
    weights = generator.integers(1, 4, lengths.shape)
    words[np.arange(count)[:, None], begins] = weights * 256 + lengths
    return words


def sum_logs(logs: Ints) -> Ints:
    """Values of each log times the weights of their records."""
    count = len(logs)
    begins, lengths = _layout(count)
    weights = np.take_along_axis(logs, begins, axis=1) >> 8
    each = np.repeat(weights.ravel(), (lengths + 1).ravel()).reshape(logs.shape)
    values = logs.copy()
    np.put_along_axis(values, begins, 0, axis=1)
    sums: Ints = (values * each).sum(axis=1)
    return sums
