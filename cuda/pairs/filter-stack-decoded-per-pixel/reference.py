"""A stack of point filters, and what it makes of an image."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]
    Ints = npt.NDArray[np.int64]


def image(shape: tuple[int, ...]) -> Floats:
    """Brightness from 0 to 1."""
    return np.random.default_rng(1).random(shape[0])


def operations(shape: tuple[int, ...]) -> Ints:
    """Operations in no order."""
    return np.random.default_rng(2).integers(0, 4, shape[0])


def amounts(shape: tuple[int, ...]) -> Floats:
    """Amounts that leave the brightness near where it was."""
    kinds = operations(shape)
    amount = np.random.default_rng(3).uniform(0.0, 0.1, shape[0])
    away = np.array([-0.05, 0.95, -0.05, -0.05])
    return away[kinds] + amount


def run_stack(image: Floats, operations: Ints, amounts: Floats) -> Floats:
    """All steps, one after the other."""
    v = image
    for kind, a in zip(operations, amounts, strict=True):
        bent = (v + a, v * a, a * v * v + v, (v - 1.0) * a + v)
        v = bent[int(kind)]
    return v
