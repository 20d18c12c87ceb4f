"""Numbers above zero, of which there is one kind: any order is right."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def marks(shape: tuple[int, ...]) -> Array:
    """Sevens, and numbers that are left out."""
    return np.random.default_rng(2).choice([7, 0, -3], shape)


def expected(src: Array, n: int) -> tuple[Array, Array]:
    """As many sevens, then zeros, and their count."""
    count = int((src > 0).sum())
    return np.where(np.arange(n) < count, 7, 0), np.array([count])
