"""Soil moisture, its capacity and conductivity by pressure head (van Genuchten, 1980)."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


_ALPHA, _SATURATED, _RESIDUAL, _N = 0.02, 0.45, 0.1, 1.8


def conductivity(shape: tuple[int, ...]) -> Array:
    """Of saturated soil: from almost zero to one."""
    return 1e-6 + (1 - 1e-6) * np.arange(shape[0]) / shape[0]


def pressure(shape: tuple[int, ...]) -> Array:
    """Heads, the last of them above zero."""
    return -100 + 101 * np.arange(shape[0]) / shape[0]


def expected(Ksat: Array, psi: Array) -> tuple[Array, Array, Array]:
    """Capacity, moisture and conductivity."""
    m = (_N - 1) / _N
    head, dry = 100 * psi, psi < 0
    scaled = _ALPHA * np.abs(head)
    span = _SATURATED - _RESIDUAL
    moisture = np.where(dry, span / (1 + scaled**_N) ** m + _RESIDUAL, _SATURATED)
    full = (moisture - _RESIDUAL) / span
    slope = 1 - (1 - full ** (1 / m)) ** m
    capacity = 100 * _ALPHA * _N * (1 / _N - 1) * scaled ** (_N - 1) * -span
    capacity *= (scaled**_N + 1) ** (1 / _N - 2)
    return np.where(dry, capacity, 0.0), moisture, Ksat * np.sqrt(full) * slope**2
