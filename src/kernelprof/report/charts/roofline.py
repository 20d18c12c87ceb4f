"""The roofline: limits as lines, kernels as points, and the way from one point to the next."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from kernelprof.model.numbers import number
from kernelprof.report.charts import axes, drawing
from kernelprof.report.charts.parts import ChartKind, Key, Row, Rows, real, tidy
from kernelprof.report.markup import classes, element, joined

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from markupsafe import Markup

    from kernelprof.report.charts.placement import Field, Line, Spot

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
    "ideal": "fewest operations and bytes",
    "branch": "variant, at device memory",
}
HEIGHT: Final = 360
_HEADROOM: Final = 28
"""Pixels above the highest limit, where names of limits have room."""
_RATES: Final = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1.0, ""))


@dataclass(frozen=True, slots=True)
class Point:
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


@dataclass(frozen=True, slots=True)
class Ceiling:
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
    def shown(self) -> str:
        """``FP32 peak (computed)``."""
        return f"{self.label} ({self.origin})"


def rows(points: Iterable[Point], ceilings: Sequence[Ceiling]) -> tuple[Row, ...]:
    """Limits, points, and the corners of the picture.

    There is room for the points, for the corner of each limit, and for what is written on them.
    """
    points = [each for each in points if each.flop_per_byte > 0 and each.flop_per_second > 0]
    if not points:
        return ()
    xs = [each.flop_per_byte for each in points]
    ys = [each.flop_per_second for each in points]
    peak = max([*(each.value for each in ceilings if each.kind == "compute"), *ys])
    ridges = [peak / each.value for each in ceilings if each.kind == "bandwidth"]
    low, high = (
        min([x / 3 for x in xs] + [x / 7 for x in ridges]),
        max(xs + [4 * x for x in ridges]),
    )
    bottom = min([*(y / 3 for y in ys), peak / 40])
    top = peak * max(1.7, (peak / bottom) ** (_HEADROOM / (HEIGHT - _HEADROOM)))
    corners = ((low, bottom), (3 * high, top))
    return (
        *_limits(ceilings, *corners),
        *({"what": "corner", "x": tidy(x), "y": tidy(y)} for x, y in corners),
        *(_point(position, each) for position, each in enumerate(points)),
    )


def _limits(
    ceilings: Sequence[Ceiling], start: tuple[float, float], end: tuple[float, float]
) -> Iterable[Row]:
    """A compute limit begins at the steepest slope, a slope ends at the highest of those."""
    (low, bottom), (high, top) = start, end
    fastest = max((each.value for each in ceilings if each.kind == "bandwidth"), default=None)
    roof = max((each.value for each in ceilings if each.kind == "compute"), default=top)
    for each in ceilings:
        if each.kind == "compute":
            x = low if fastest is None else max(low, each.value / fastest)
            ends, unit = (x, each.value, high, each.value), "FLOP/s"
        else:
            x = max(low, bottom / each.value)
            ends, unit = (x, each.value * x, roof / each.value, roof), "B/s"
        shown = f"{rate(each.value)}{unit}"
        yield {
            "what": "limit",
            "label": each.shown,
            "shown": shown,
            "kind": each.kind,
            "limiting": each.limiting,
            "assumed": each.origin == DATASHEET,
            "text": f"{each.label} {shown}",
            **dict(zip(("x", "y", "x2", "y2"), map(tidy, ends), strict=True)),
        }


def _point(position: int, point: Point) -> Row:
    figures = f"{number(point.flop_per_byte)} FLOP per byte, {rate(point.flop_per_second)}FLOP/s"
    return {
        "what": "point",
        "label": point.label,
        "shown": figures,
        "level": point.level,
        "x": tidy(point.flop_per_byte),
        "y": tidy(point.flop_per_second),
        "path": point.path,
        "order": position,
        "text": point.short,
        "hollow": point.hollow,
    }


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


def scales(rows: Rows) -> tuple[axes.AxisScale, axes.AxisScale]:
    """The scales along and up, from the corners of the picture."""
    low, high = (row for row in rows if row["what"] == "corner")
    x, y = (axes.AxisScale(real(low, field), real(high, field), log=True) for field in ("x", "y"))
    return x, y


def _draw(rows: Rows) -> Markup:
    x, y = scales(rows)
    across = axes.Axis(x, x.ticks(), _plain, "FLOP per byte")
    up = axes.Axis(y, y.ticks(4), axes.prefixed, "FLOP/s")
    limits = [row for row in rows if row["what"] == "limit"]
    points = [row for row in rows if row["what"] == "point"]
    marks = [
        *(_limit(row, x, y) for row in limits),
        *(drawing.line(*start, *end, "way") for start, end in _ways(points, x, y)),
        *(_mark(row, x, y) for row in points),
        *_labels(tuple(tuple(row.items()) for row in rows)),
    ]
    return drawing.plot(HEIGHT, marks, x=across, y=up)


def _plain(value: float) -> str:
    return f"{value:,.6g}"


def _place(row: Row, x: axes.AxisScale, y: axes.AxisScale, end: str = "") -> tuple[float, float]:
    """A place in the plot: a part of its width, and pixels from its top."""
    return x.at(real(row, f"x{end}")), (1 - y.at(real(row, f"y{end}"))) * HEIGHT


def _limit(row: Row, x: axes.AxisScale, y: axes.AxisScale) -> Markup:
    look = classes(
        "roof", "assumed" if row["assumed"] else "", "limiting" if row["limiting"] else ""
    )
    start, end = _place(row, x, y), _place(row, x, y, "2")
    return drawing.line(*start, *end, look, title=f"{row['label']}: at most {row['shown']}")


@dataclass(frozen=True, slots=True)
class Labels:
    """The labels of a chart as they are placed for plots of some widths."""

    look: str
    field: Field
    limits: Sequence[tuple[Row, Spot]]
    points: Sequence[Spot]


def labels(limits: Rows, points: Rows, x: axes.AxisScale, y: axes.AxisScale) -> Iterable[Labels]:
    """Names of limits and points, once for each of :data:`WIDTHS`.

    Of the limits the one that matters most chooses first.
    """
    # With NumPy, which a command without a chart does not need.
    from kernelprof.report.charts.placement import Field, Line, around_point

    limits = sorted(limits, key=lambda row: (not row["limiting"], row["kind"] == "compute"))
    places = [_place(row, x, y) for row in points]
    lines = [_line(row, x, y) for row in limits]
    ways = [Line(*start, *end, weight=_WAY) for start, end in _ways(points, x, y)]
    labelled = [(*_place(row, x, y), str(row["text"])) for row in points if row["text"]]
    of_limits = list(map(_spots, limits, lines))
    for look, widths in WIDTHS:
        field = Field(HEIGHT, widths, places, [*lines, *ways])
        own = [
            [
                each._replace(bold=True)
                for each in around_point(part, height, ", ".join(words), drawing.inward(part))
            ]
            for part, height, words in _together(labelled, widths[0])
        ]
        spots = field.place([*of_limits, *own])
        limit_count = len(limits)
        yield Labels(
            look, field, list(zip(limits, spots[:limit_count], strict=True)), spots[limit_count:]
        )


@lru_cache(maxsize=1024)
def _labels(key: tuple[tuple[tuple[str, object], ...], ...]) -> tuple[Markup, ...]:
    rows: Any = [dict(row) for row in key]
    x, y = scales(rows)
    limits, points = ([row for row in rows if row["what"] == what] for what in ("limit", "point"))
    return tuple(_names(limits, points, x, y))


def _names(limits: Rows, points: Rows, x: axes.AxisScale, y: axes.AxisScale) -> Iterable[Markup]:
    for each in labels(limits, points, x, y):
        names = [_words(spot, _name_look(row)) for row, spot in each.limits]
        yield element("g", joined(names, ""), class_=each.look)
        if each.points:
            words = joined([_words(spot) for spot in each.points], "")
            yield element("g", words, class_=f"labels {each.look}")


def _words(spot: Spot, look: str = "") -> Markup:
    return drawing.text(spot.part, spot.height, spot.words, look, anchor=spot.anchor, dx=spot.dx)


def _line(row: Row, x: axes.AxisScale, y: axes.AxisScale) -> Line:
    from kernelprof.report.charts.placement import Line

    return Line(*_place(row, x, y), *_place(row, x, y, "2"))


def _spots(row: Row, line: Line) -> list[Spot]:
    from kernelprof.report.charts.placement import along_level, beside_slope

    text = str(row["text"])
    name = text.removesuffix(f" {row['shown']}")
    first = name.partition(",")[0]
    words = [
        _limit_label(row, each) for each in dict.fromkeys((text, name, first, name.split()[0]))
    ]
    level = row["kind"] == "compute"
    spots = along_level(line, words, _ACROSS) if level else beside_slope(line, words, _UP)
    return [each._replace(bold=True) for each in spots] if row["limiting"] else spots


def _limit_label(row: Row, name: str) -> str:
    return f"{name}: limits" if row["limiting"] else name


def _name_look(row: Row) -> str:
    return "roof-name limiting" if row["limiting"] else "roof-name"


def _ways(
    points: Rows, x: axes.AxisScale, y: axes.AxisScale
) -> Iterable[tuple[tuple[float, float], tuple[float, float]]]:
    """The way from one point of a path to the next."""
    paths: dict[str, list[Row]] = {}
    for row in points:
        if row["path"]:
            paths.setdefault(str(row["path"]), []).append(row)
    for path in paths.values():
        for start, end in pairwise(path):
            yield _place(start, x, y), _place(end, x, y)


def _mark(row: Row, x: axes.AxisScale, y: axes.AxisScale) -> Markup:
    colour, shape = LEVELS[str(row["level"])]
    title = f"{row['label']}: {row['shown']}"
    return drawing.symbol(
        *_place(row, x, y), shape, colour, title=title, hollow=bool(row["hollow"])
    )


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


def _legend(rows: Rows) -> Sequence[Key]:
    levels = {row.get("level") for row in rows}
    return [Key(_WORDS[level], *LEVELS[level]) for level in LEVELS if level in levels]


KIND: Final = ChartKind(
    _draw, table=(("What", "label"), ("Value", "shown")), wide=True, legend=_legend
)
