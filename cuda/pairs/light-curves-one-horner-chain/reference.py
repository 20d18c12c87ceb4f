"""Light curves as power series, and their mean squares."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]


def series(shape: tuple[int, ...]) -> Floats:
    """Terms that fall off slowly."""
    drawn = np.random.default_rng(41).random(shape, dtype=np.float32) - np.float32(0.5)
    terms: Floats = drawn / np.sqrt(1.0 + np.arange(shape[0]))[:, None]
    return terms


def times(shape: tuple[int, ...]) -> Floats:
    """Times of observation."""
    return np.random.default_rng(42).uniform(-1.0, 1.0, shape)


def mean_squares(series: Floats, times: Floats) -> Floats:
    """The mean over the times of each star's light squared."""
    powers = times[:, None] ** np.arange(len(series))
    means: Floats = ((powers @ series) ** 2).mean(axis=0)
    return means
