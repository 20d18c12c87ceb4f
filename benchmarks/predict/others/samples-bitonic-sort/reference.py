"""Keys in order, in pieces of 1024, with what belongs to them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def expected(d_SrcKey: Array, d_SrcVal: Array) -> tuple[Array, Array]:
    """Keys and values."""
    rows = d_SrcKey.reshape(-1, 1024)
    order = np.argsort(rows, axis=1)
    values = np.take_along_axis(d_SrcVal.reshape(-1, 1024), order, axis=1)
    return np.sort(rows, axis=1).ravel(), values.ravel()
