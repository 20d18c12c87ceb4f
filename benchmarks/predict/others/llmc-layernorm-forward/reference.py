"""Layer normalisation with its means and reciprocal deviations."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def expected(inp: Array, weight: Array, bias: Array) -> tuple[Array, Array, Array]:
    """Normalised rows, their means, one over their deviations."""
    mean = inp.mean(axis=1)
    rstd = 1 / np.sqrt(inp.var(axis=1) + 1e-5)
    return (inp - mean[:, None]) * rstd[:, None] * weight + bias, mean, rstd
