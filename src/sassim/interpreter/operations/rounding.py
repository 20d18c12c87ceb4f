"""Roundings of floating-point numbers, and what is left out: subnormal numbers (``.FTZ``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from sassim.interpreter.lanes import Array
    from sassim.interpreter.operand_access import Read
    from sassim.sass.listing import Instruction

_DIRECTED: Final = {"RM": "down", "RP": "up", "RZ": "zero"}
DIRECTIONS: Final = "RM RP RZ"
"""Modifiers that say in which direction is rounded; without one it is to the nearest."""
TO_WHOLE: Final[dict[str, Callable[[Array], Array]]] = {
    "TRUNC": np.trunc,
    "FLOOR": np.floor,
    "CEIL": np.ceil,
    "RN": np.rint,
}
"""Roundings to whole numbers; without one it is to the nearest, to even."""
_LEAST: Final = np.float32(2.0**-126)
_ONE: Final = np.uint64(1)


def to_whole(i: Instruction) -> Callable[[Array], Array]:
    """The rounding to a whole number that an instruction asks for."""
    return next((TO_WHOLE[each] for each in i.modifiers if each in TO_WHOLE), np.rint)


def is_directed(i: Instruction) -> bool:
    """Whether it rounds otherwise than to the nearest."""
    return i.has(*_DIRECTED)


def flush_subnormals(values: Array) -> Array:
    """Numbers of 32 bits with zeros for subnormal ones."""
    small = (np.abs(values) < _LEAST) & (values != 0)
    return np.where(small, np.copysign(np.float32(0), values), values) if small.any() else values


def read_flushed(read: Read) -> Read:
    """Read numbers of 32 bits with zeros for subnormal ones."""
    return lambda c: flush_subnormals(read(c))


def odd_sum(x: Array, y: Array) -> Array:
    """The sum of numbers of 64 bits, rounded to odd where it is not exact.

    Rounded once more to fewer bits it gives what the exact sum gives, in every direction (Boldo and
    Melquiond 2008, "Emulation of a FMA and correctly rounded sums").
    """
    total = x + y
    back = total - x
    lost = (x - (total - back)) + (y - back)
    raw = total.view(np.uint64)
    overshoots = (lost != 0) & np.isfinite(total) & ((raw & _ONE) == 0)
    outward = (lost > 0) == (total > 0)
    return np.where(overshoots, np.where(outward, raw + _ONE, raw - _ONE), raw).view(np.float64)


def round_to_single(values: Array, i: Instruction) -> Array:
    """64-bit values rounded to 32 as an instruction says, and held within 0 and 1 if it says so."""
    near = values.astype(np.float32)
    direction = next((_DIRECTED[each] for each in i.modifiers if each in _DIRECTED), None)
    if direction is not None:
        near = correct_rounding(near, values, direction)
    if i.has("FTZ"):
        near = flush_subnormals(near)
    if i.has("SAT"):
        near = np.where(np.isnan(near), np.float32(0), np.clip(near, 0, 1)).astype(np.float32)
    return near


def correct_rounding(near: Array, exact: Array, direction: str) -> Array:
    """The neighbour on the other side, where rounding to the nearest went the wrong way."""
    kind = near.dtype.type
    error = near.astype(np.float64) - exact
    if direction == "down":
        return np.where(error > 0, np.nextafter(near, kind(-np.inf)), near)
    if direction == "up":
        return np.where(error < 0, np.nextafter(near, kind(np.inf)), near)
    away = np.abs(near.astype(np.float64)) > np.abs(exact)
    return np.where(away, np.nextafter(near, kind(0)), near)
