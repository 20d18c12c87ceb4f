"""A tree of 32-way nodes over sorted keys, and lookups in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Ints = npt.NDArray[np.int64]


def leaves(shape: tuple[int, ...]) -> Ints:
    """Keys in ascending order, none twice."""
    gaps = np.random.default_rng(14).integers(1, 64, shape[0], dtype=np.int32)
    return np.cumsum(gaps, dtype=np.int64)


def inner(shape: tuple[int, ...], levels: int) -> Ints:
    """Each level above the leaves, from the root down: the first key below each child."""
    keys = leaves((32**levels,))
    tree = np.concatenate([keys[:: 32 ** (levels - up)] for up in range(1, levels)])
    return tree.reshape(shape)


def wanted(shape: tuple[int, ...], levels: int) -> Ints:
    """Keys to look up, from the first one on."""
    keys = leaves((32**levels,))
    return np.random.default_rng(15).integers(keys[0], keys[-1] + 50, shape[0])


def look_up(leaves: Ints, wanted: Ints) -> Ints:
    """The place of the last key that is not above the wanted one."""
    return np.searchsorted(leaves, wanted, side="right") - 1
