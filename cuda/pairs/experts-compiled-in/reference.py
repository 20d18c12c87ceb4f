"""A mixture of small networks with weights from a formula."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]
    Ints = npt.NDArray[np.int64]

INPUTS = 6
WIDTH = 12
WEIGHTS = (INPUTS + WIDTH + 1) * WIDTH


def chosen(shape: tuple[int, ...]) -> Ints:
    """Which network each 64 samples ask."""
    return np.random.default_rng(31).integers(0, 42, shape)


def _exported(expert: int) -> Floats:
    """The weights of a network, as the kernel's ``exported`` computes them."""
    number = np.arange(expert * WEIGHTS, (expert + 1) * WEIGHTS, dtype=np.uint32)
    bits = (number + np.uint32(1)) * np.uint32(2654435761)
    bits = (bits ^ (bits >> np.uint32(15))) * np.uint32(2246822519)
    bits = bits ^ (bits >> np.uint32(13))
    return ((bits >> np.uint32(16)).astype(np.float64) - 32768.0) / 65536.0


def ask_experts(inputs: Floats, chosen: Ints) -> Floats:
    """What the chosen network answers to each sample."""
    answers = np.zeros(inputs.shape[1])
    asked = np.repeat(chosen, 64)
    for expert in range(42):
        weights = _exported(expert)
        mine = asked == expert
        first = weights[: INPUTS * WIDTH].reshape(INPUTS, WIDTH)
        second = weights[INPUTS * WIDTH : -WIDTH].reshape(WIDTH, WIDTH)
        hidden = np.maximum(first.T @ inputs[:, mine], 0.0)
        answers[mine] = weights[-WIDTH:] @ np.maximum(second.T @ hidden, 0.0)
    return answers
