"""Gradients of a layer normalisation: of its input, and summed up of weight and bias."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def expected(
    dinp: Array, dout: Array, inp: Array, weight: Array, mean: Array, rstd: Array, SMS: int
) -> tuple[Array, Array, Array, Array]:
    """The gradients, and the scratch memory: both sums and the count of blocks as bits."""
    norm = (inp - mean[:, None]) * rstd[:, None]
    inner = weight * dout
    outer = inner - inner.mean(axis=1, keepdims=True)
    outer -= norm * (inner * norm).mean(axis=1, keepdims=True)
    dweight, dbias = (norm * dout).sum(axis=0), dout.sum(axis=0)
    blocks = np.array([2 * SMS], np.uint32).view(np.float32)
    return dinp + outer * rstd[:, None], dweight, dbias, np.concatenate([dbias, dweight, blocks])
