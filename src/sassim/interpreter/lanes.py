"""Arrays of lanes: one row a warp, one column a lane."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
LANES: Final = 32


def make_read_only(values: Array) -> Array:
    """The same, never to be written into: several registers may hold it."""
    values.flags.writeable = False
    return values


NOTHING: Final = make_read_only(np.zeros((1, 1), np.uint32))
"""What a register holds that nothing was written to."""
NEVER: Final = make_read_only(np.zeros((1, 1), np.bool_))
ALWAYS: Final = make_read_only(np.ones((1, 1), np.bool_))

LANE: Final = make_read_only(np.arange(LANES, dtype=np.uint32)[None, :])
"""The number of each lane, as one row."""
BITS: Final = make_read_only(np.uint32(1) << LANE)
"""The bit of each lane in a mask of its warp, as one row."""
EVERYONE: Final = np.uint32(0xFFFFFFFF)
"""The mask of all lanes of a warp."""


def ballot(lanes: Array) -> Array:
    """Lanes (warps by 32) as masks of 32 bits, one column."""
    packed = np.packbits(lanes, axis=1, bitorder="little")
    return np.ascontiguousarray(packed).view(np.uint32)


def members(masks: Array) -> Array:
    """The lanes that masks of 32 bits, one column of them, stand for."""
    lanes: Array = (masks & BITS) != 0
    return lanes


def first_of(values: Array, active: Array | None) -> Array:
    """The value of the first lane of each warp that takes part (``None``: all), as one column."""
    if values.shape[1] == 1:
        return values.copy()
    if active is None:
        return values[:, :1].copy()
    warps = len(active)
    lane = active.argmax(axis=1)
    values_of_first: Array = np.broadcast_to(values, (warps, LANES))[np.arange(warps), lane]
    return values_of_first[:, None]


def compact(values: Array) -> Array:
    """The same in one row or column, where all are alike."""
    if (values == values[:1]).all():
        values = values[:1]
    if (values == values[:, :1]).all():
        values = values[:, :1]
    return values.copy()


def distinct(values: Array) -> Array:
    """Return each number once, in order: ``numpy.unique`` (2.3 on) hashes, 70 times as slowly."""
    ordered = np.sort(values, axis=None)
    once: Array = ordered[np.diff(ordered, prepend=ordered[:1] - 1) != 0]
    return once


def as_slice(rows: Array) -> slice | Array:
    """Row numbers as a slice where they are evenly spaced: what it takes is no copy."""
    if len(rows) == 1:
        return slice(int(rows[0]), int(rows[0]) + 1)
    step = int(rows[1] - rows[0])
    if rows[-1] - rows[0] == step * (len(rows) - 1) and bool((np.diff(rows) == step).all()):
        return slice(int(rows[0]), int(rows[-1]) + 1, step)
    return rows
