"""How flat groups of eight points are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]


def flatness(x: Array, y: Array, z: Array) -> Array:
    """The smallest eigenvalue of the second moments of each group, as a share of all three."""
    points = np.stack([x, y, z], axis=1).reshape(-1, 8, 3)
    centred = points - points.mean(axis=1, keepdims=True)
    values = np.linalg.eigvalsh(centred.transpose(0, 2, 1) @ centred)
    share: Array = values[:, 0] / values.sum(axis=1)
    return share
