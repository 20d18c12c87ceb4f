"""Rods whose conductance grows with their heat, by implicit steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]


def start(shape: tuple[int, ...]) -> Floats:
    """Heat of each cell, a column for each rod."""
    return np.random.default_rng(45).random(shape, dtype=np.float32).astype(np.float64)


def cool(start: Floats, steps: int) -> Floats:
    """All steps, each by elimination and substitution."""
    heat = start
    none = np.zeros((1, start.shape[1]))
    for _ in range(steps):
        flow = np.concatenate([none, 0.4 + 0.1 * (heat[:-1] + heat[1:]), none])
        sums = [none[0]]
        ratios = [none[0]]
        for here, left, right in zip(heat, flow[:-1], flow[1:], strict=True):
            scale = 1.0 / (1.0 + left + right - left * ratios[-1])
            sums.append((here + left * sums[-1]) * scale)
            ratios.append(right * scale)
        solved = [none[0]]
        for total, ratio in zip(sums[:0:-1], ratios[:0:-1], strict=True):
            solved.append(total + ratio * solved[-1])
        heat = np.stack(solved[:0:-1])
    return heat
