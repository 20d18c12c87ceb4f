"""Users of items, their baskets, and which items are bought together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Ints = npt.NDArray[np.int64]

ITEMS = 4096


def users(shape: tuple[int, ...], people: int) -> Ints:
    """Who bought each item."""
    return np.random.default_rng(57).integers(0, people, shape)


def baskets(shape: tuple[int, ...]) -> Ints:
    """What else they bought."""
    return np.random.default_rng(58).integers(0, ITEMS, shape, dtype=np.int32).astype(np.int64)


def count_together(users: Ints, baskets: Ints) -> Ints:
    """How often an item is in a basket of those who bought another."""
    return np.stack([np.bincount(baskets[own].ravel(), minlength=ITEMS) for own in users])
