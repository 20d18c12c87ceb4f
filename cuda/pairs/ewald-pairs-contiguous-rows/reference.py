"""Charged particles in a box, and the short-ranged part of their energy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import erfc

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]


def particles(shape: tuple[int, ...]) -> Array:
    """Places in a cube of two by two by two, and charges of half to one and a half."""
    generator = np.random.default_rng(51)
    places = generator.uniform(-1.0, 1.0, shape)
    places[:, 3] = generator.uniform(0.5, 1.5, shape[0])
    return places


def ewald_energy(particles: Array, energy: Array, splitting: float) -> Array:
    """The sum over all pairs of ``q1 q2 erfc(a r) / r``."""
    total = 0.0
    for row, own in enumerate(particles[:-1]):
        others = particles[row + 1 :]
        distance = np.sqrt(((others[:, :3] - own[:3]) ** 2).sum(axis=1))
        total += float((own[3] * others[:, 3] * erfc(splitting * distance) / distance).sum())
    return energy + total
