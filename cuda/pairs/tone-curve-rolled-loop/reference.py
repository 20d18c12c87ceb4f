"""A tone curve as a power series, and what it makes of an image."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]


def series(shape: tuple[int, ...]) -> Floats:
    """Coefficients that fall off slowly."""
    return np.random.default_rng(7).uniform(-1.0, 1.0, shape[0]) / (1.0 + np.arange(shape[0]))


def tone_curve(image: Floats, series: Floats) -> Floats:
    """The curve at each value."""
    return np.asarray(np.polynomial.polynomial.polyval(image, series), np.float64)
