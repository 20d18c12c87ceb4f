"""Four axes in another order."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

Array = npt.NDArray[Any]


def expected(matrix: Array) -> Array:
    """The last axis first, then the third, the first and the second."""
    return matrix.transpose(3, 2, 0, 1)
