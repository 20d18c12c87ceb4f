"""Chains of pages of 32 signals, and how each correlates with its past."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]
    Ints = npt.NDArray[np.int64]

LAGS = 20


def starts(shape: tuple[int, ...], page_count: int) -> Ints:
    """The first page of each chain."""
    return np.random.default_rng(59).integers(0, page_count, shape)


def next_pages(shape: tuple[int, ...]) -> Ints:
    """The page after each: one cycle through all of them."""
    order = np.random.default_rng(60).permutation(shape[0])
    after = np.empty_like(order)
    after[order] = np.roll(order, -1)
    return after


def correlate(starts: Ints, next: Ints, pages: Floats, steps: int) -> Floats:
    """Sums of products of each signal with itself, 1 to 20 steps before."""
    page = starts
    signal = []
    for _ in range(steps):
        signal.append(pages[page])
        page = next[page]
    values = np.stack(signal)
    lagged = [(values[lag:] * values[:-lag]).sum(axis=0) for lag in range(1, LAGS + 1)]
    return np.stack(lagged, axis=1)
