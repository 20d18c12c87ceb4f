"""Pulses of a detector, most of them on one channel, and their spectrum."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

PEDESTAL = 37


def pulses(shape: tuple[int, ...]) -> Array:
    """Channel in the low byte, charge of 1 to 64 in the high one."""
    generator = np.random.default_rng(23)
    channel = generator.integers(0, 256, shape, dtype=np.uint16)
    channel[generator.random(shape, dtype=np.float32) < 0.75] = PEDESTAL
    return channel | generator.integers(1, 65, shape, dtype=np.uint16) << 8


def spectrum(pulses: Array, spectrum: Array) -> Array:
    """The charge of each channel, added to what is there."""
    charge = np.bincount(pulses.astype(np.int64) & 255, weights=pulses >> 8, minlength=256)
    return spectrum + charge.astype(np.uint64)
