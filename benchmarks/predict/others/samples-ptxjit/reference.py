"""Each element is its own index."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def expected(N: int) -> Array:
    """The indices."""
    return np.arange(N)
