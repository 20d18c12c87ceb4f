"""Where labels of a plot stand: off points, off each other, and off lines where there is room.

A plot has no width of its own: places along it are parts of its width, sizes of texts are pixels.
So a place is judged at several widths.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import product
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    Boxes = npt.NDArray[np.float64]
    """Left, top, right and bottom in pixels, along the last axis."""
    Costs = npt.NDArray[np.float64]
    Answers = npt.NDArray[np.bool_]

_NARROW: Final = frozenset(" .,:/()filjrt'")
_BREADTHS: Final = (4.2, 7.6, 8.6)
"""Pixels of narrow characters, of others and of capitals in a text of 12 pixels, at most: those of
DejaVu Sans, which is among the widest fonts that a system has."""
_BOLD: Final = 1.12
_ASCENT: Final = 11.0
_DESCENT: Final = 3.0
_MARK: Final = 8.0
"""Half of the side of a point's mark."""
_CLEARANCE: Final = 1.5
"""Half of the breadth of a line."""
_OVERLAP: Final = 1000.0
_HIDES: Final = 300.0
_CROSSED: Final = 30.0
_ROUNDS: Final = 3


class Spot(NamedTuple):
    """Words at a place: a part of the width, the pixels of their base line, and their anchor.

    ``cost`` says how much a spot is worse than others of the same label; a line that crosses a
    label costs 30, a point below it 300. A named tuple, as a page has hundreds of thousands.
    """

    words: str
    part: float
    height: float
    anchor: str = ""
    dx: float = 0.0
    cost: float = 0.0
    bold: bool = False


class Line(NamedTuple):
    """A line between two places, and how much it matters beside a limit's that it crosses words."""

    x: float
    y: float
    x2: float
    y2: float
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Field:
    """What labels have to keep off, in a plot of a height that is drawn at several widths."""

    height: float
    widths: Sequence[float]
    points: Sequence[tuple[float, float]]
    lines: Sequence[Line]

    def place(self, labels: Sequence[Sequence[Spot]]) -> list[Spot]:
        """One of the spots of each label: the first that is free, else the one that harms least.

        Who chooses first takes the room of others, so where anything is crossed others begin.
        """
        if not labels:
            return []
        choices = self._choices(labels)
        best, least = list[int](), float("inf")
        for first in range(len(labels)):
            indices = self._in_order(choices, [*range(first, len(labels)), *range(first)])
            boxes = np.stack([each.boxes[n] for each, n in zip(choices, indices, strict=True)])
            overlaps = boxes_overlap(boxes[:, None], boxes).sum(axis=-1)
            np.fill_diagonal(overlaps, 0)
            own = [each.harms[n] for each, n in zip(choices, indices, strict=True)]
            harms = own + _OVERLAP * overlaps.sum(axis=1)
            cost = sum(harms) + sum(e.own[n] for e, n in zip(choices, indices, strict=True))
            if cost < least:
                best, least = indices, cost
            if max(harms) < _CROSSED:
                break
        return [spots[n] for spots, n in zip(labels, best, strict=True)]

    def _choices(self, labels: Sequence[Sequence[Spot]]) -> list[_Choice]:
        spots = [spot for each in labels for spot in each]
        widths = np.array(self.widths)
        boxes = spot_boxes(spots, widths)
        left, top, right, bottom = np.moveaxis(boxes, -1, 0)
        outside = (left < 0) | (right > widths) | (top < 0) | (bottom > self.height)
        harms = _OVERLAP * outside.sum(axis=-1)
        if self.points:
            hidden = boxes_overlap(boxes[:, :, None], mark_boxes(self.points, widths))
            harms = harms + _HIDES * hidden.sum(axis=(-2, -1))
        if self.lines:
            weights = np.array([each.weight for each in self.lines])
            crossed = lines_cross(boxes, self.lines, widths)
            harms = harms + _CROSSED * (crossed * weights).sum(axis=(-2, -1))
        own = np.array([each.cost for each in spots])
        costs = own + harms
        choices, start = [], 0
        for each in labels:
            part = slice(start, start + len(each))
            start = part.stop
            order = np.argsort(own[part], kind="stable")
            choices.append(_Choice(boxes[part], own[part], harms[part], costs[part], order))
        return choices

    def _in_order(self, choices: Sequence[_Choice], order: Sequence[int]) -> list[int]:
        chosen: dict[int, int] = {}
        for _ in range(_ROUNDS):
            before = dict(chosen)
            for at in order:
                others = [choices[each].boxes[n] for each, n in chosen.items() if each != at]
                chosen[at] = choices[at].best(others)
            if chosen == before:
                break
        return [chosen[at] for at in range(len(choices))]


@dataclass(frozen=True)
class _Choice:
    """Spots of a label by number: boxes at each width, their own costs, what they harm, the sum of
    these two, and their ``order`` by their own costs.
    """

    boxes: Boxes
    own: Costs
    harms: Costs
    costs: Costs
    order: npt.NDArray[np.intp]

    @cached_property
    def best_alone(self) -> int:
        """The one that costs least where nothing else is taken."""
        return self._least(self.costs)

    def best(self, others: Sequence[Boxes]) -> int:
        """The one that costs least beside others that are taken; of equal ones the better spot."""
        if not others:
            return self.best_alone
        occupied = np.array(others)
        # Others only add to costs: what is free of them stays the best.
        if not boxes_overlap(self.boxes[self.best_alone], occupied).any():
            return self.best_alone
        hidden = boxes_overlap(self.boxes[:, None], occupied)
        return self._least(self.costs + _OVERLAP * hidden.sum(axis=(-2, -1)))

    def _least(self, costs: Costs) -> int:
        return int(self.order[costs[self.order].argmin()])


def spot_boxes(spots: Sequence[Spot], widths: Costs) -> Boxes:
    """What the words of each spot cover in plots of these widths."""
    columns = np.array(
        [(e.part, e.height, e.dx, *_reach(e.words, e.anchor, e.bold)) for e in spots]
    )
    parts, heights, dx, before, after = columns.T[..., None]
    middle = parts * widths + dx
    heights = np.broadcast_to(heights, middle.shape)
    return np.stack(
        (middle - before, heights - _ASCENT, middle + after, heights + _DESCENT), axis=-1
    )


@lru_cache(maxsize=4096)
def _reach(words: str, anchor: str, bold: bool) -> tuple[float, float]:
    size = text_width(words) * (_BOLD if bold else 1.0)
    before = {"end": size, "middle": size / 2}.get(anchor, 0.0)
    return before, size - before


def mark_boxes(points: Sequence[tuple[float, float]], widths: Costs) -> Boxes:
    """What the marks of points cover."""
    x, y = np.array(points, np.float64).T
    x = x * widths[..., None]
    y = np.broadcast_to(y, x.shape)
    return np.stack((x - _MARK, y - _MARK, x + _MARK, y + _MARK), axis=-1)


def lines_cross(boxes: Boxes, lines: Sequence[Line], widths: Costs) -> Answers:
    """Which lines go through which boxes."""
    x, y, x2, y2 = np.array([(e.x, e.y, e.x2, e.y2) for e in lines]).T
    left, top, right, bottom = (each[..., None] for each in np.moveaxis(boxes, -1, 0))
    across = (x2 - x) * widths[..., None]
    x = x * widths[..., None]
    first, last = _within(across, left - _CLEARANCE - x, right + _CLEARANCE - x)
    enters, leaves = _within(y2 - y, top - _CLEARANCE - y, bottom + _CLEARANCE - y)
    answers: Answers = np.maximum(np.maximum(first, enters), 0) <= np.minimum(
        np.minimum(last, leaves), 1
    )
    return answers


def _within(step: Any, low: Any, high: Any) -> tuple[Costs, Costs]:
    """From where to where on its way, of which 1 is the whole, a line is between two sides."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ends = low / step, high / step
    inside = (low <= 0) & (high >= 0)
    enters = np.where(step == 0, np.where(inside, -np.inf, np.inf), np.minimum(*ends))
    leaves = np.where(step == 0, np.where(inside, np.inf, -np.inf), np.maximum(*ends))
    return enters, leaves


@lru_cache(maxsize=1024)
def text_width(words: str) -> float:
    """Pixels that words of 12 pixels take at most."""
    narrow, other, capital = _BREADTHS
    return sum(
        narrow if each in _NARROW else capital if each.isupper() or each in "mw" else other
        for each in words
    )


def boxes_overlap(one: Boxes, other: Boxes) -> Answers:
    """Whether boxes have a part in common."""
    left, top, right, bottom = (one[..., side] for side in range(4))
    answers: Answers = (left < other[..., 2]) & (other[..., 0] < right)
    answers &= (top < other[..., 3]) & (other[..., 1] < bottom)
    return answers


def along_slope(line: Line, words: Sequence[str], step: float) -> list[Spot]:
    """Spots along a line that rises: right of it and below, left of it and above.

    The corner of the words that is nearest to the line touches it at any width. Words that come
    later cost more.
    """
    spots = []
    steps = int((line.y - line.y2) // step)
    for at, (rank, text) in product(range(steps + 1), enumerate(words)):
        height = line.y - 4 - at * step
        if height <= line.y2:
            continue
        part = line.x + (line.x2 - line.x) * (line.y - height) / (line.y - line.y2)
        cost = 0.05 * at + 8.0 * rank
        below, above = height + 4 + _ASCENT, height - 4 - _DESCENT
        spots.append(Spot(text, part, below, dx=5.0, cost=cost))
        spots.append(Spot(text, part, above, "end", dx=-5.0, cost=cost + 0.5))
    for rank, text in enumerate(words):
        spots.append(Spot(text, line.x2, line.y2 - 7, dx=4.0, cost=5.0 + 8.0 * rank))
    return spots


def along_level(line: Line, words: Sequence[str], step: float) -> list[Spot]:
    """Spots along a level line from its end on, above it and below; at its end if it is a point."""
    spots = [Spot(words[0], line.x2, line.y - 7, "end")] if line.x2 <= line.x else []
    for at, (rank, text) in product(range(int(1 / step)), enumerate(words)):
        part = line.x2 - at * step
        if part > line.x:
            # Farther off there is room beside points that lie on the line.
            for down, farther in ((-7, 0.0), (16, 0.5), (-13, 2.0), (24, 2.5)):
                cost = 0.1 * at + 8.0 * rank + farther
                spots.append(Spot(text, part, line.y + down, "end", cost=cost))
    return spots


def around_point(part: float, height: float, words: str, anchor: str) -> list[Spot]:
    """Spots around a point: above it, below it, at its sides, and farther off."""
    sideways = (("", 12.0, 1.0), ("end", -12.0, 1.0))
    sides = ((anchor, 0.0, 0.0), *sideways, ("", -30.0, 2.0), ("end", 30.0, 2.0))
    heights = ((-12, 0.0), (20, 1.0), (4, 1.5), *((at, 3.0) for at in (-10, 18)))
    farther = tuple((at, abs(at) / 5) for at in (-26, 34, -40, 48, -54, 62, 76, 90, 104))
    return [
        Spot(words, part, height + down, side, dx, cost + more)
        for down, cost in (*heights, *farther)
        for side, dx, more in (sideways if down in {4, -10, 18} else sides)
    ]
