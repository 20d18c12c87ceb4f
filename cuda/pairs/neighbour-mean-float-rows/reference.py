"""What the kernels beside this file have to return."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Indices = npt.NDArray[np.int64]
    Array = npt.NDArray[np.float64]


def neighbours(shape: tuple[int, ...], nodes: int) -> Indices:
    """Neighbours of each node, drawn at random."""
    return np.random.default_rng(11).integers(0, nodes, shape)


def neighbour_mean(features: Array, neighbours: Indices) -> Array:
    """Mean of the rows of each node's neighbours."""
    return np.asarray(features[neighbours].mean(axis=1), dtype=np.float64)
