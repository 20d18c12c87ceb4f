"""The transpose."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

Array = npt.NDArray[Any]


def expected(idata: Array) -> Array:
    """The transpose."""
    return idata.T
