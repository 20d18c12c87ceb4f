"""One step of AdamW."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def squares(shape: tuple[int, ...]) -> Array:
    """Second moments, which are never below zero."""
    return np.random.default_rng(1).random(shape)


def expected(
    params_memory: Array, grads_memory: Array, m_memory: Array, v_memory: Array, **known: float
) -> tuple[Array, Array, Array]:
    """Parameters and both moments."""
    m = known["beta1"] * m_memory + (1 - known["beta1"]) * grads_memory
    v = known["beta2"] * v_memory + (1 - known["beta2"]) * grads_memory**2
    step = m / known["beta1_correction"]
    step /= np.sqrt(v / known["beta2_correction"]) + known["eps"]
    change = step + known["weight_decay"] * params_memory
    return params_memory - known["learning_rate"] * change, m, v
