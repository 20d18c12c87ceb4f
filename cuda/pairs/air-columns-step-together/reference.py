"""Water in columns of air: diffusion, and condensation in parts of a step."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]
    Ints = npt.NDArray[np.int64]


def start(shape: tuple[int, ...]) -> Floats:
    """Water at each level."""
    return np.random.default_rng(5).uniform(0.1, 1.0, shape)


def parts(shape: tuple[int, ...]) -> Ints:
    """Parts that a column divides a step into: mostly one, 48 in one of 32 steps."""
    return np.where(np.random.default_rng(6).integers(0, 32, shape) == 0, 48, 1)


def advance(start: Floats, parts: Ints, steps: int) -> Floats:
    """All steps of all columns."""
    water = start
    for step in range(steps):
        around = np.pad(water, ((0, 0), (1, 1)), mode="edge")
        water = water + 0.01 * (around[:, 2:] + around[:, :-2] - 2.0 * water)
        count = parts[:, step, None]
        for part in range(int(count.max())):
            moved = water + 0.004 / count * (0.3 - water / (0.5 + water))
            water = np.where(part < count, moved, water)
    return water
