"""The product of a matrix's transpose with itself, whole and by parts of its rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]


def covariance(data: Array, parts: Array, finished: Array) -> dict[str, Array]:
    """Sums over each part of the rows, their total, and counters that are zero again."""
    cut = data.reshape(parts.shape[0], -1, data.shape[1])
    sums = cut.transpose(0, 2, 1) @ cut
    return {"parts": sums, "product": sums.sum(axis=0), "finished": np.zeros_like(finished)}
