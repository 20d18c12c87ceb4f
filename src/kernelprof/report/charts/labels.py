"""Where the names of points stand so that none covers another.

Charts are as wide as the screen, and their texts do not grow with them. So places are worked out
for a plot of known size, once for a desk and once for a phone, and the page takes the fitting one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kernelprof.report.charts.parts import CHARACTER

if TYPE_CHECKING:
    from collections.abc import Sequence

    Box = tuple[float, float, float, float]

HALF_LINE: Final = 8.0
MARKER: Final = 8.0
"""Pixels around a point that no other name may touch: it would seem to be that point's."""

GAP: Final = 9.0
"""Pixels between a point and its name."""

_RISES: Final = (0, -16, 16, -30, 30, -44, 44, -58, 58, -72, 72, -86, 86)
_COLUMN: Final = 24.0
"""Pixels across within which points count as above one another."""

_OUTSIDE: Final = 4.0
_ON_A_LINE: Final = 0.08
_AWAY: Final = 0.1 / 16
"""What a pixel away from its point costs a name; as a line through it does at 13 pixels."""


@dataclass(frozen=True, slots=True)
class Place:
    """A name beside its point, ``rise`` pixels below it (above, where that is negative)."""

    right: bool
    rise: float


_CANDIDATES: Final = tuple(Place(right, rise) for rise in _RISES for right in (True, False))


@dataclass(frozen=True, slots=True)
class Plot:
    """The plot in pixels, what is written there already, and lines better not written on."""

    width: float
    height: float
    taken: tuple[Box, ...] = ()
    lines: tuple[Box, ...] = ()


def places(points: Sequence[tuple[float, float]], names: Sequence[str], plot: Plot) -> list[Place]:
    """A place for each name; ``points`` are pixels from the upper left corner.

    One name after the other takes the first free place, from right to left and, of points above
    one another, from top to bottom; where none is free, the one that covers least. Looking at all
    names without a free place a second time frees those that came first.
    """
    markers = [(x - MARKER, y - MARKER, x + MARKER, y + MARKER) for x, y in points]
    found: dict[int, tuple[float, Place, Box]] = {}
    order = sorted(range(len(points)), key=lambda at: (-(points[at][0] // _COLUMN), points[at][1]))
    for at in (*order, *order):
        if at in found and found[at][0] == 0:
            continue
        others = [box for which, (*_, box) in found.items() if which != at]
        taken = [*plot.taken, *others, *(box for which, box in enumerate(markers) if which != at)]
        found[at] = _best(points[at], names[at], taken, plot)
    return [found[at][1] for at in range(len(points))]


def _best(
    point: tuple[float, float], name: str, taken: Sequence[Box], plot: Plot
) -> tuple[float, Place, Box]:
    best: tuple[float, Place, Box] | None = None
    for place in _CANDIDATES:
        away = _AWAY * abs(place.rise)
        if best is not None and best[0] <= away:
            break
        box = _box(point, name, place)
        covered = _covered(box, taken, plot)
        if best is not None and best[0] <= away + covered:
            continue
        cost = away + (covered + _on_lines(box, plot))
        if best is None or cost < best[0]:
            best = cost, place, box
    assert best is not None
    return best


def _box(point: tuple[float, float], name: str, place: Place) -> Box:
    x, y = point
    length = CHARACTER * len(name)
    start = x + GAP if place.right else x - GAP - length
    return (start, y + place.rise - HALF_LINE, start + length, y + place.rise + HALF_LINE)


def _covered(box: Box, taken: Sequence[Box], plot: Plot) -> float:
    """How much a name there would cover, and how far it would leave the plot."""
    left, top, right, bottom = box
    near = [
        other
        for other in taken
        if other[0] < right and left < other[2] and other[1] < bottom and top < other[3]
    ]
    outside = max(0.0, -left) + max(0.0, right - plot.width)
    outside += max(0.0, -top) + max(0.0, bottom - plot.height)
    return float(sum(_overlap(box, other) for other in near)) + _OUTSIDE * outside


def _on_lines(box: Box, plot: Plot) -> float:
    return sum(_ON_A_LINE for line in plot.lines if _crosses(line, box))


def _overlap(one: Box, other: Box) -> float:
    """The area that two boxes share, in lines of text of one character."""
    across = min(one[2], other[2]) - max(one[0], other[0])
    along = min(one[3], other[3]) - max(one[1], other[1])
    return across * along / (CHARACTER * HALF_LINE) if across > 0 and along > 0 else 0.0


def _crosses(line: Box, box: Box) -> bool:
    """Whether a line, from its first to its second point, runs through a box."""
    x1, y1, x2, y2 = line
    first, last = 0.0, 1.0
    # Most lines are horizontal: upright first, they are told apart without a division.
    for start, change, low, high in ((y1, y2 - y1, box[1], box[3]), (x1, x2 - x1, box[0], box[2])):
        if change == 0:
            if not low <= start <= high:
                return False
            continue
        enter, leave = (low - start) / change, (high - start) / change
        if enter > leave:
            enter, leave = leave, enter
        first, last = max(first, enter), min(last, leave)
        if first > last:
            return False
    return True
