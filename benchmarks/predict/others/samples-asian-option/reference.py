"""Paths of a price: products of exponentials of normal random numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


_UNIT = 2.0**-32


def states(shape: tuple[int, ...]) -> Array:
    """States of a generator as cuRAND keeps them in twelve words.

    A counter, five words of the xorshift, a flag (no number is left over) and room for that number.
    """
    found = np.zeros(shape, np.uint32)
    found[:, :6] = np.random.default_rng(3).integers(0, 2**32, (shape[0], 6))
    return found


def option(shape: tuple[int, ...]) -> Array:
    """Spot, strike, rate, sigma, tenor, time step, two results, and the type: zero is a call."""
    known = [40, 35, 0.03, 0.2, 1 / 3, 1 / 261, 0, 0, 0]
    return np.array(known, np.float32).reshape(shape)


def _word(state: Array) -> Array:
    """The next random word (Marsaglia, "Xorshift RNGs", 2003, section 3.1: xorwow)."""
    mixed = state[:, 1] ^ (state[:, 1] >> np.uint32(2))
    last = state[:, 5]
    new = last ^ (last << np.uint32(4)) ^ mixed ^ (mixed << np.uint32(1))
    state[:, 1:5] = state[:, 2:6].copy()
    state[:, 5] = new
    state[:, 0] += np.uint32(362437)
    result: Array = new + state[:, 0]
    return result


def expected(rngStates: Array, option: Array, numSims: int, numTimesteps: int) -> Array:
    """One path a thread; normal numbers come in pairs (Box and Muller)."""
    state = rngStates[:numSims].astype(np.uint32)
    drift = (option[2] - 0.5 * option[3] ** 2) * option[5]
    diffusion = option[3] * np.sqrt(option[5])
    price, path = np.ones(numSims), []
    for step in range(numTimesteps):
        if step % 2 == 0:
            radius = np.sqrt(-2 * np.log(_word(state) * _UNIT + _UNIT / 2))
            angle = 2 * np.pi * (_word(state) * _UNIT + _UNIT / 2)
            normal = radius * np.sin(angle)
        else:
            normal = radius * np.cos(angle)
        price = price * np.exp(drift + diffusion * normal)
        path.append(price)
    return np.array(path)
