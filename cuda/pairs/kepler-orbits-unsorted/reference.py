"""A catalogue of orbits, as it comes or sorted, and their eccentric anomalies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]


def catalogue_means(N: int) -> Array:  # noqa: N803
    """Mean anomalies, as far round as may be."""
    return _catalogue(N)[0]


def catalogue_eccentricities(N: int) -> Array:  # noqa: N803
    """Of asteroids, and of one comet in twenty orbits."""
    return _catalogue(N)[1]


def sorted_means(N: int) -> Array:  # noqa: N803
    """The mean anomalies of the same orbits, the longest orbits first."""
    means, eccentricities = _catalogue(N)
    return means[np.argsort(-eccentricities)]


def sorted_eccentricities(N: int) -> Array:  # noqa: N803
    """The same eccentricities, falling."""
    eccentricities = _catalogue(N)[1]
    return eccentricities[np.argsort(-eccentricities)]


def anomalies(mean: Array, eccentricity: Array) -> Array:
    """Solutions of ``E = M + e sin E`` by iteration."""
    anomaly = mean.copy()
    for _ in range(400):
        anomaly = mean + eccentricity * np.sin(anomaly)
    return anomaly


def _catalogue(orbits: int) -> tuple[Array, Array]:
    generator = np.random.default_rng(41)
    means = generator.uniform(-np.pi, np.pi, orbits)
    comet = generator.random(orbits) < 0.05
    eccentricities = np.where(
        comet, generator.uniform(0.75, 0.9, orbits), generator.uniform(0.02, 0.25, orbits)
    )
    return means, eccentricities
