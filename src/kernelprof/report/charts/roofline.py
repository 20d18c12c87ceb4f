"""The roofline: limits as lines, kernels as points, and the way from one point to the next."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

from kernelprof.model.numbers import number
from kernelprof.report.charts import axes, drawing
from kernelprof.report.charts.drawing import ChartKind, Key, tidy
from kernelprof.report.markup import classes, element, joined

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from markupsafe import Markup

    from kernelprof.report.charts.placement import Field, Line, Spot

    Place = tuple[float, float]

MEASURED: Final = "measured"
PREDICTED: Final = "predicted"
COMPUTED: Final = "computed"
DATASHEET: Final = "datasheet"
LEVELS: Final = {
    "DRAM": ("var(--point-dram)", "circle"),
    "L2": ("var(--point-l2)", "square"),
    "L1": ("var(--point-l1)", "triangle-up"),
    "shared": ("var(--point-shared)", "triangle-down"),
    "ideal": ("var(--point-ideal)", "diamond"),
    "branch": ("var(--point-branch)", "cross"),
}
"""Colour and shape of a point by its level; ``branch`` is DRAM for a kernel beside the way."""

_WORDS: Final = {
    "DRAM": "at device memory",
    "L2": "at L2",
    "L1": "at L1",
    "shared": "at shared memory",
    "ideal": "ideal (minimum operations and bytes)",
    "branch": "variant, at device memory",
}
HEIGHT: Final = 360
_HEADROOM: Final = 28
"""Pixels above the highest limit, where names of limits have room."""
_RATES: Final = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1.0, ""))


class Point(NamedTuple):
    """A kernel at one level of the memory hierarchy: FLOP per byte there, and FLOP/s.

    ``level`` is ``DRAM``, ``L2``, ``L1``, ``ideal`` for the FLOPs and bytes that the problem needs,
    or ``branch`` for a kernel at DRAM that is beside the path. ``short`` stands beside the point.
    Points of one ``path`` are joined in their order; a ``hollow`` one is where a path begins.
    """

    label: str
    level: str
    flop_per_byte: float
    flop_per_second: float
    short: str = ""
    path: str = ""
    hollow: bool = False

    @property
    def title(self) -> str:
        """What the point is of."""
        return self.label

    @property
    def amount(self) -> str:
        """``16 FLOP per byte, 8 TFLOP/s``."""
        return f"{number(self.flop_per_byte)} FLOP per byte, {rate(self.flop_per_second)}FLOP/s"


class Ceiling(NamedTuple):
    """A horizontal (``compute``, FLOP/s) or sloping (``bandwidth``, bytes/s) limit.

    ``origin`` is ``measured``, ``computed`` from the chip's units and its clock, or ``datasheet``.
    One that is ``limiting`` is what holds the kernel back, by its verdict.
    """

    label: str
    kind: str
    value: float
    origin: str
    limiting: bool = False

    @property
    def title(self) -> str:
        """``FP32 peak (computed)``."""
        return f"{self.label} ({self.origin})"

    @property
    def amount(self) -> str:
        """``66.9 TFLOP/s``."""
        return f"{rate(self.value)}{'FLOP/s' if self.kind == 'compute' else 'B/s'}"


Row = Point | Ceiling


def rows(points: Iterable[Point], ceilings: Iterable[Ceiling]) -> tuple[Row, ...]:
    """Limits and the points that a logarithmic axis has; nothing where it has none of them."""
    drawn = [each for each in points if each.flop_per_byte > 0 and each.flop_per_second > 0]
    return (*ceilings, *drawn) if drawn else ()


def rate(value: float) -> str:
    """``8.82 T``: a number with the prefix of its unit."""
    size, prefix = next((each for each in _RATES if value >= each[0]), _RATES[-1])
    return f"{number(value / size)} {prefix}"


WIDTHS: Final = (("broad", (1000.0, 660.0, 800.0)), ("slim", (290.0, 250.0, 400.0)))
"""Where labels would meet depends on the width of a plot: they are placed for these. The first one
says which points are close together."""
_UP: Final = 36.0
_ACROSS: Final = 0.06
"""Between places that a label may take along a line: pixels up a slope, of the width on a level."""
_WAY: Final = 0.1
"""What it matters that the way between points crosses a label, beside a limit."""
_LABEL: Final = (22.0, 15.0)
"""Pixels between labels, along and down, from which both can be read."""


class Picture:
    """Where points and limits are, along in parts of the width and down in pixels.

    There is room for the points, for the corner of each limit, and for what is written on them.
    """

    def __init__(self, rows: Sequence[Row]) -> None:
        self.points = [row for row in rows if isinstance(row, Point)]
        self.limits = [row for row in rows if isinstance(row, Ceiling)]
        self._roofs = [each.value for each in self.limits if each.kind == "compute"]
        self._slopes = [each.value for each in self.limits if each.kind == "bandwidth"]
        xs = [each.flop_per_byte for each in self.points]
        ys = [each.flop_per_second for each in self.points]
        peak = max([*self._roofs, *ys])
        ridges = [peak / slope for slope in self._slopes]
        self.low = min([x / 3 for x in xs] + [x / 7 for x in ridges])
        self.high = 3 * max(xs + [4 * x for x in ridges])
        self.bottom = min([*(y / 3 for y in ys), peak / 40])
        self.top = peak * max(1.7, (peak / self.bottom) ** (_HEADROOM / (HEIGHT - _HEADROOM)))
        self.x = axes.AxisScale(tidy(self.low), tidy(self.high), log=True)
        self.y = axes.AxisScale(tidy(self.bottom), tidy(self.top), log=True)

    def place(self, flop_per_byte: float, flop_per_second: float) -> Place:
        """A place in the plot: a part of its width, and pixels from its top."""
        return self.x.at(tidy(flop_per_byte)), (1 - self.y.at(tidy(flop_per_second))) * HEIGHT

    def place_point(self, point: Point) -> Place:
        """Where a point is."""
        return self.place(point.flop_per_byte, point.flop_per_second)

    def ends(self, limit: Ceiling) -> tuple[float, float, float, float]:
        """Both ends of a limit.

        A compute limit begins at the steepest slope, a slope ends at the highest of those.
        """
        value = limit.value
        if limit.kind == "compute":
            start = max(self.low, value / max(self._slopes)) if self._slopes else self.low
            return *self.place(start, value), *self.place(self.high, value)
        start, roof = max(self.low, self.bottom / value), max(self._roofs, default=self.top)
        return *self.place(start, value * start), *self.place(roof / value, roof)

    def ways(self) -> Iterable[tuple[float, float, float, float]]:
        """The way from one point of a path to the next."""
        paths: dict[str, list[Point]] = {}
        for point in self.points:
            if point.path:
                paths.setdefault(point.path, []).append(point)
        for path in paths.values():
            for start, end in pairwise(path):
                yield *self.place_point(start), *self.place_point(end)


def _draw(rows: Sequence[Row]) -> Markup:
    picture = Picture(rows)
    across = axes.Axis(picture.x, picture.x.ticks(), lambda value: f"{value:,.6g}", "FLOP per byte")
    up = axes.Axis(picture.y, picture.y.ticks(4), axes.prefixed, "FLOP/s")
    marks = [
        *(_limit(each, picture) for each in picture.limits),
        *(drawing.line(*way, "way") for way in picture.ways()),
        *(_mark(each, picture) for each in picture.points),
        *_draw_labels(tuple(rows)),
    ]
    return drawing.plot(HEIGHT, marks, x=across, y=up)


def _limit(limit: Ceiling, picture: Picture) -> Markup:
    assumed = "assumed" if limit.origin == DATASHEET else ""
    look = classes("roof", assumed, "limiting" if limit.limiting else "")
    title = f"{limit.title}: at most {limit.amount}"
    return drawing.line(*picture.ends(limit), look, title=title)


def _mark(point: Point, picture: Picture) -> Markup:
    colour, shape = LEVELS[point.level]
    title = f"{point.title}: {point.amount}"
    place = picture.place_point(point)
    return drawing.symbol(*place, shape, colour, title=title, hollow=point.hollow)


@dataclass(frozen=True, slots=True)
class Labels:
    """The labels of a chart as they are placed for plots of some widths."""

    look: str
    field: Field
    limits: Sequence[tuple[Ceiling, Spot]]
    points: Sequence[Spot]


def place_labels(rows: Sequence[Row]) -> Iterable[Labels]:
    """Names of limits and points, once for each of :data:`WIDTHS`.

    Of the limits the one that matters most chooses first.
    """
    # With NumPy, which a command without a chart does not need.
    from kernelprof.report.charts.placement import Field, Line, around_point

    picture = Picture(rows)
    limits = sorted(picture.limits, key=lambda each: (not each.limiting, each.kind == "compute"))
    places = list(map(picture.place_point, picture.points))
    lines = [Line(*picture.ends(each)) for each in limits]
    ways = [Line(*way, weight=_WAY) for way in picture.ways()]
    labelled = [
        (*place, point.short)
        for place, point in zip(places, picture.points, strict=True)
        if point.short
    ]
    of_limits = list(map(_spots, limits, lines))
    for look, widths in WIDTHS:
        field = Field(HEIGHT, widths, places, [*lines, *ways])
        own = [
            _bold(around_point(part, height, ", ".join(words), drawing.inward(part)))
            for part, height, words in _together(labelled, widths[0])
        ]
        spots = field.place([*of_limits, *own])
        yield Labels(look, field, list(zip(limits, spots, strict=False)), spots[len(limits) :])


@lru_cache(maxsize=1024)
def _draw_labels(rows: tuple[Row, ...]) -> tuple[Markup, ...]:
    groups = []
    for each in place_labels(rows):
        names = [
            _words(spot, classes("roof-name", "limiting" if limit.limiting else ""))
            for limit, spot in each.limits
        ]
        groups.append(element("g", joined(names, ""), class_=each.look))
        if each.points:
            words = joined(map(_words, each.points), "")
            groups.append(element("g", words, class_=f"labels {each.look}"))
    return tuple(groups)


def _words(spot: Spot, look: str = "") -> Markup:
    return drawing.text(spot.part, spot.height, spot.words, look, anchor=spot.anchor, dx=spot.dx)


def _spots(limit: Ceiling, line: Line) -> list[Spot]:
    from kernelprof.report.charts.placement import along_level, along_slope

    name, limits = limit.label, ": limits" if limit.limiting else ""
    texts = (f"{name} {limit.amount}", name, name.partition(",")[0], name.split()[0])
    words = [f"{each}{limits}" for each in dict.fromkeys(texts)]
    level = limit.kind == "compute"
    spots = along_level(line, words, _ACROSS) if level else along_slope(line, words, _UP)
    return _bold(spots) if limit.limiting else spots


def _bold(spots: Iterable[Spot]) -> list[Spot]:
    return [each._replace(bold=True) for each in spots]


def _together(
    labelled: Iterable[tuple[float, float, str]], width: float
) -> list[tuple[float, float, list[str]]]:
    groups: list[tuple[float, float, list[str]]] = []
    for part, height, word in labelled:
        for at, (other, top, words) in enumerate(groups):
            near = _LABEL[0] + 4.0 * sum(map(len, words))
            if abs(part - other) * width < near and abs(height - top) < 2 * _LABEL[1]:
                groups[at] = (other, min(top, height), [*words, word])
                break
        else:
            groups.append((part, height, [word]))
    return groups


def _legend(rows: Sequence[Row]) -> Sequence[Key]:
    levels = {row.level for row in rows if isinstance(row, Point)}
    return [Key(_WORDS[level], *LEVELS[level]) for level in LEVELS if level in levels]


KIND: Final = ChartKind(
    _draw, table=(("What", "title"), ("Value", "amount")), wide=True, legend=_legend
)
