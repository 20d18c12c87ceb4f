"""The roofline: limits as lines, kernels as points, and the way from one point to the next."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from kernelprof.model.numbers import number
from kernelprof.report.charts import axes, drawing
from kernelprof.report.charts.parts import Key, Kind, Row, Rows, real, tidy
from kernelprof.report.markup import Markup, classes, element, joined

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

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
    corners = ((low, min([*(y / 3 for y in ys), peak / 40])), (3 * high, peak * 1.7))
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


HEIGHT: Final = 360
_WIDTHS: Final = (("broad", 1000.0), ("slim", 290.0))
"""Where labels would meet depends on the width of a plot: they are put together for these two."""
_LABEL: Final = (22.0, 15.0)
"""Pixels between labels, along and down, from which both can be read."""


def _draw(rows: Rows) -> Markup:
    corners = [row for row in rows if row["what"] == "corner"]
    x, y = (
        axes.Scale(real(corners[0], field), real(corners[1], field), log=True)
        for field in ("x", "y")
    )
    across = axes.Axis(x, x.ticks(), _plain, "FLOP per byte")
    up = axes.Axis(y, y.ticks(4), axes.prefixed, "FLOP/s")
    limits = [row for row in rows if row["what"] == "limit"]
    points = [row for row in rows if row["what"] == "point"]
    marks = [
        *(_limit(row, x, y) for row in limits),
        *_paths(points, x, y),
        *(_mark(row, x, y) for row in points),
        *_named_limits(limits, x, y),
        *_named_points(points, x, y),
    ]
    return drawing.plot(HEIGHT, marks, x=across, y=up)


def _plain(value: float) -> str:
    return f"{value:,.6g}"


def _place(row: Row, x: axes.Scale, y: axes.Scale, end: str = "") -> tuple[float, float]:
    """A place in the plot: a part of its width, and pixels from its top."""
    return x.at(real(row, f"x{end}")), (1 - y.at(real(row, f"y{end}"))) * HEIGHT


def _limit(row: Row, x: axes.Scale, y: axes.Scale) -> Markup:
    look = classes(
        "roof", "assumed" if row["assumed"] else "", "limiting" if row["limiting"] else ""
    )
    start, end = _place(row, x, y), _place(row, x, y, "2")
    return drawing.line(*start, *end, look, title=f"{row['label']}: at most {row['shown']}")


def _named_limits(limits: Rows, x: axes.Scale, y: axes.Scale) -> Iterable[Markup]:
    """Names of limits: above a level one at its end; beside a slope, each at another height."""
    slopes = sorted(
        (row for row in limits if row["kind"] == "bandwidth"), key=lambda row: real(row, "x2")
    )
    for at, row in enumerate(slopes):
        height = float(HEIGHT - 10 - 20 * (len(slopes) - 1 - at))
        value = y.low * (y.high / y.low) ** (1 - height / HEIGHT)
        place = real(row, "x2") * value / real(row, "y2")
        part = min(max(x.at(max(place, x.low)), 0.0), 1.0)
        yield drawing.text(part, height, _said(row), _name_look(row), dx=8)
    lowest = HEIGHT * 2.0
    for row in sorted((r for r in limits if r["kind"] == "compute"), key=lambda r: -real(r, "y")):
        _, height = _place(row, x, y)
        above = abs(height - lowest) > 2 * _LABEL[1]
        lowest = height
        yield drawing.text(
            1.0, height + (-7 if above else 16), _said(row), _name_look(row), anchor="end"
        )


def _said(row: Row) -> str:
    return f"{row['text']}: limits" if row["limiting"] else str(row["text"])


def _name_look(row: Row) -> str:
    return "roof-name limiting" if row["limiting"] else "roof-name"


def _paths(points: Rows, x: axes.Scale, y: axes.Scale) -> Iterable[Markup]:
    """The way from one point of a path to the next."""
    paths: dict[str, list[Row]] = {}
    for row in points:
        if row["path"]:
            paths.setdefault(str(row["path"]), []).append(row)
    for path in paths.values():
        for start, end in pairwise(path):
            yield drawing.line(*_place(start, x, y), *_place(end, x, y), "way")


def _mark(row: Row, x: axes.Scale, y: axes.Scale) -> Markup:
    colour, shape = LEVELS[str(row["level"])]
    said = f"{row['label']}: {row['shown']}"
    return drawing.symbol(*_place(row, x, y), shape, colour, title=said, hollow=bool(row["hollow"]))


def _named_points(points: Rows, x: axes.Scale, y: axes.Scale) -> Iterable[Markup]:
    """What stands beside the points; points that lie close together share a label."""
    named = [(*_place(row, x, y), str(row["text"])) for row in points if row["text"]]
    for look, width in _WIDTHS:
        labels = [
            drawing.text(part, height - 12, ", ".join(words), anchor=drawing.inward(part))
            for part, height, words in _together(named, width)
        ]
        if labels:
            yield element("g", joined(labels, ""), class_=f"labels {look}")


def _together(
    named: Iterable[tuple[float, float, str]], width: float
) -> list[tuple[float, float, list[str]]]:
    groups: list[tuple[float, float, list[str]]] = []
    for part, height, word in named:
        for at, (other, top, words) in enumerate(groups):
            near = _LABEL[0] + 4.0 * sum(map(len, words))
            if abs(part - other) * width < near and abs(height - top) < 2 * _LABEL[1]:
                groups[at] = (other, min(top, height), [*words, word])
                break
        else:
            groups.append((part, height, [word]))
    return groups


def _legend(rows: Rows) -> Sequence[Key]:
    found = {row.get("level") for row in rows}
    return [Key(_WORDS[level], *LEVELS[level]) for level in LEVELS if level in found]


KIND: Final = Kind(_draw, table=(("What", "label"), ("Value", "shown")), wide=True, legend=_legend)
