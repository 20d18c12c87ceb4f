"""The largest value of an array and its place, in one number."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]


def largest(values: Array) -> Array:
    """The value's bits in the upper half, so that they rise with it; its place's complement."""
    place = int(values.argmax())
    bits = int(np.float32(values[place]).view(np.uint32))
    rising = bits ^ (0xFFFFFFFF if bits >> 31 else 0x80000000)
    return np.array([rising << 32 | (place ^ 0xFFFFFFFF)], dtype=np.uint64)
