"""Scalar products of many pairs of vectors."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

Array = npt.NDArray[Any]


def expected(d_A: Array, d_B: Array) -> Array:
    """One product a pair."""
    result: Array = (d_A * d_B).sum(axis=1)
    return result
