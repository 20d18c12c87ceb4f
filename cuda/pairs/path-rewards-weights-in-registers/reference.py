"""Paths through a graph and the rewards along them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]
    Ints = npt.NDArray[np.int64]

STEPS = 160


def starts(shape: tuple[int, ...], nodes: int) -> Ints:
    """Where each path begins."""
    return np.random.default_rng(54).integers(0, nodes, shape)


def next_nodes(shape: tuple[int, ...]) -> Ints:
    """The node after each: one cycle through all of them."""
    order = np.random.default_rng(55).permutation(shape[0])
    after = np.empty_like(order)
    after[order] = np.roll(order, -1)
    return after


def decays(shape: tuple[int, ...]) -> Floats:
    """What is left of a weight after a step."""
    return np.random.default_rng(56).uniform(0.95, 1.0, shape)


def follow(starts: Ints, next: Ints, rewards: Floats, decays: Floats) -> Floats:
    """The weighted mean of the rewards along each path."""
    weight = np.ones_like(decays)
    total = np.zeros_like(decays)
    result = np.zeros_like(decays)
    node = starts
    for _ in range(STEPS):
        total += weight
        result += weight * rewards[node]
        weight = weight * decays
        node = next[node]
    return result / total
