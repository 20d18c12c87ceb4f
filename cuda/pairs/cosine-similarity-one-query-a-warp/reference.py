"""What the kernels beside this file have to return."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[np.float64]


def cosine(queries: Array, documents: Array) -> Array:
    """Cosine of the angle between each query and each document."""
    lengths = np.linalg.norm(queries, axis=1)[:, None] * np.linalg.norm(documents, axis=1)
    return np.asarray(queries @ documents.T / lengths, dtype=np.float64)
