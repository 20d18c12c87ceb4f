"""Susceptible, exposed and infectious parts of a region's people until it is over."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]

OVER = 1e-5


def _rates(shape: tuple[int, ...], seed: int, low: float, high: float) -> Floats:
    """Rates that 128 neighbours nearly share."""
    generator = np.random.default_rng(seed)
    around = np.repeat(generator.uniform(low, high, shape[0] // 128), 128)
    return around * generator.uniform(0.99, 1.01, shape)


def contact(shape: tuple[int, ...]) -> Floats:
    """How often people meet."""
    return _rates(shape, 21, 0.2, 0.5)


def onset(shape: tuple[int, ...]) -> Floats:
    """How soon the exposed fall ill."""
    return _rates(shape, 22, 0.1, 0.3)


def recovery(shape: tuple[int, ...]) -> Floats:
    """How soon the ill recover."""
    return _rates(shape, 23, 0.05, 0.15)


def run_out(contact: Floats, onset: Floats, recovery: Floats) -> Floats:
    """The part that never caught it."""

    def change(s: Floats) -> Floats:
        caught = contact * s[0] * s[2]
        fell_ill = onset * s[1]
        return np.stack([-caught, caught - fell_ill, fell_ill - recovery * s[2]])

    state = np.stack([np.full_like(contact, part) for part in (0.999, 0.0, 0.001)])
    for _ in range(4 * 365):
        a = change(state)
        b = change(state + 0.5 * a)
        c = change(state + 0.5 * b)
        d = change(state + c)
        moved = state + (a + 2.0 * b + 2.0 * c + d) / 6.0
        over = state[1] + state[2] < OVER
        state = np.where(over, state, moved)
        if over.all():
            break
    spared: Floats = state[0]
    return spared
