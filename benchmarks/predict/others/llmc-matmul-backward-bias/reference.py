"""Sums of columns."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

Array = npt.NDArray[Any]


def expected(dbias: Array, dout: Array) -> Array:
    """The sums, added to what was there."""
    total: Array = dbias + dout.sum(axis=0)
    return total
