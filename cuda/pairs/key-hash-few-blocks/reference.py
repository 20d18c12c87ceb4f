"""A hash of 32 bits, mixed many times over."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

ROUNDS = 64


def hashes(keys: Array) -> Array:
    """Shifts and odd factors in 32-bit arithmetic, which wraps round."""
    state = keys.astype(np.uint32)
    for step in range(ROUNDS):
        state = (state ^ state >> np.uint32(15)) * np.uint32(0x2C1B3C6D) + np.uint32(step)
        state = (state ^ state >> np.uint32(12)) * np.uint32(0x297A2D39)
        state ^= state >> np.uint32(15)
    return state
