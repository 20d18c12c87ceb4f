"""Sums and powers of corrected channels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]
    Ints = npt.NDArray[np.int64]


def picks(shape: tuple[int, ...], panels: int, in_panel: int) -> Ints:
    """Which channels make up each beam: the panel in the upper half, the channel in the lower."""
    generator = np.random.default_rng(11)
    panel = generator.integers(0, panels, shape)
    return panel * 65536 + generator.integers(0, in_panel, shape)


def sum_channels(channels: Floats, picks: Ints, gains: Floats) -> dict[str, Floats]:
    """The corrected channels of each beam, summed, and their squares."""
    raw = channels[picks >> 16, picks & 65535]
    v = gains[..., None] * raw * (1.0 + 0.2 * raw**2 + 0.05 * raw**4)
    return {"sums": v.sum(axis=1), "powers": (v * v).sum(axis=1)}
