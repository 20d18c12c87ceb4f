"""Gradients of token and position embeddings: sums over where each occurs."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def expected(dwte: Array, dwpe: Array, dout: Array, inp: Array) -> tuple[Array, Array]:
    """Both gradients, added to what was there."""
    tokens_too, positions = dwte.copy(), dwpe + dout.sum(axis=0)
    np.add.at(tokens_too, inp, dout)
    return tokens_too, positions
