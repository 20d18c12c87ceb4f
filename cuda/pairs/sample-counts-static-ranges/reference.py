"""Integrals of different accuracy: how much of a unit square's light reaches its corner."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]


def depths(shape: tuple[int, ...]) -> Array:
    """Optical depths of a tenth to four."""
    return np.random.default_rng(71).uniform(0.1, 4.0, shape)


def sample_counts(ITEMS: int, LONG: int, SHORT: int) -> Array:  # noqa: N803
    """Many samples for the first eighth, few for the rest."""
    return np.where(np.arange(ITEMS) < ITEMS // 8, LONG, SHORT)


def attenuations(depth: Array, samples: Array, ITEMS: int, BLOCKS: int) -> dict[str, Array]:  # noqa: N803
    """Means over the first points of an additive recurrence, and how often items were taken."""
    steps = np.arange(samples.max(), dtype=np.uint32)
    u = (np.uint32(3242174889) * steps >> np.uint32(9)) / 2.0**23
    v = (np.uint32(2447445413) * steps >> np.uint32(9)) / 2.0**23
    distance = np.hypot(u, v)
    means = [
        np.exp(-each * distance[:count]).mean() for each, count in zip(depth, samples, strict=True)
    ]
    return {"attenuation": np.array(means), "taken": np.array([ITEMS + BLOCKS])}
