"""The Debye-Huckel potential of atoms at the points of a grid."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def expected(
    ax: Array,
    ay: Array,
    az: Array,
    gx: Array,
    gy: Array,
    gz: Array,
    charge: Array,
    size: Array,
    pre1: float,
    xkappa: float,
) -> Array:
    """One potential a point."""
    away = [np.subtract.outer(g, a) for g, a in ((gx, ax), (gy, ay), (gz, az))]
    distance = np.sqrt(sum(each**2 for each in away))
    terms = pre1 * charge / distance * np.exp(-xkappa * (distance - size)) / (1 + xkappa * size)
    total: Array = terms.sum(axis=1)
    return total
