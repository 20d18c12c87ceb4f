"""Tiles of 16-bit keys, and their order."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Ints = npt.NDArray[np.int64]


def keys(shape: tuple[int, ...]) -> Ints:
    """Keys of 16 bits."""
    return np.random.default_rng(4).integers(0, 65536, shape)


def sort_tiles(keys: Ints) -> Ints:
    """Each tile in ascending order."""
    return np.sort(keys, axis=1)
