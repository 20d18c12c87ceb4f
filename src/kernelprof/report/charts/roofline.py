"""The roofline: limits as lines, kernels as points, and the way from one point to the next."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from kernelprof.model.numbers import number
from kernelprof.report.charts.labels import Plot, places
from kernelprof.report.charts.parts import (
    CHARACTER,
    FONT_SIZE,
    INK,
    MUTED,
    POINT,
    ROOF,
    Kind,
    Row,
    Spec,
    axis,
    layer,
    log_axis,
    look,
    over,
    spec,
    tidy,
    tooltip,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


HEIGHT: Final = 380
WIDE: Final = 960.0
NARROW: Final = 255.0
"""Widths of the plot for which names are placed: a desk, and a phone of 390 pixels."""

WIDE_FROM: Final = 640

LEVELS: Final = {
    "DRAM": ("var(--point-dram)", "circle"),
    "L2": ("var(--point-l2)", "square"),
    "L1": ("var(--point-l1)", "triangle-up"),
    "ideal": ("var(--point-ideal)", "diamond"),
    "branch": ("var(--point-branch)", "cross"),
}
"""Colour and shape of a point by its level; ``branch`` is DRAM for a kernel beside the way."""

_LIFT: Final = 5
"""Pixels between a limit and its name."""

_RATES: Final = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1.0, ""))


@dataclass(frozen=True, slots=True)
class Point:
    """A kernel at one level of the memory hierarchy: FLOP per byte there, and FLOP/s.

    ``level`` is ``DRAM``, ``L2``, ``L1``, ``ideal`` for the FLOPs and bytes that the problem needs,
    or ``branch`` for a kernel at DRAM that is beside the path. ``name`` stands beside the point,
    ``short`` where there is little room; without them it is the level. Points of one ``path`` are
    joined in their order; a ``hollow`` one is where a path begins.
    """

    label: str
    level: str
    flop_per_byte: float
    flop_per_second: float
    name: str = ""
    short: str = ""
    path: str = ""
    hollow: bool = False


@dataclass(frozen=True, slots=True)
class Ceiling:
    """A horizontal (``compute``, FLOP/s) or sloping (``bandwidth``, bytes/s) limit.

    ``origin`` is ``measured``, ``computed`` from the chip's units and its clock, or ``datasheet``.
    """

    label: str
    kind: str
    value: float
    origin: str


@dataclass(frozen=True, slots=True)
class _Frame:
    """What the axes show, in FLOP per byte and FLOP/s."""

    low: float
    high: float
    bottom: float
    top: float

    def pixels(self, x: float, y: float, width: float) -> tuple[float, float]:
        """A place in a plot of this width, from its upper left corner."""
        across = math.log(x / self.low) / math.log(self.high / self.low)
        up = math.log(y / self.bottom) / math.log(self.top / self.bottom)
        return width * across, HEIGHT * (1.0 - up)

    def raised(self, y: float, rise: float) -> float:
        """The value so many pixels below another one."""
        return float(y * (self.top / self.bottom) ** (-rise / HEIGHT))


def rows(points: Iterable[Point], ceilings: Sequence[Ceiling]) -> tuple[Row, ...]:
    """Limits, points with the places of their names, and the corners of the picture."""
    points = [each for each in points if each.flop_per_byte > 0 and each.flop_per_second > 0]
    if not points:
        return ()
    frame = _frame(points, ceilings)
    limits = list(_limits(ceilings, frame))
    corners: list[Row] = [
        {"what": "corner", "x": tidy(frame.low), "y": tidy(frame.bottom)},
        {"what": "corner", "x": tidy(frame.high), "y": tidy(frame.top)},
    ]
    return (*limits, *_points(points, limits, frame), *corners)


def _frame(points: Sequence[Point], ceilings: Iterable[Ceiling]) -> _Frame:
    """Room for the points, for the corner of each limit, and for what is written on them."""
    xs = [point.flop_per_byte for point in points]
    ys = [point.flop_per_second for point in points]
    peak = max([*(each.value for each in ceilings if each.kind == "compute"), *ys])
    ridges = [peak / each.value for each in ceilings if each.kind == "bandwidth"]
    return _Frame(
        low=min([*(x / 3 for x in xs), *(ridge / 7 for ridge in ridges)]),
        high=max([*(x * 3 for x in xs), *(ridge * 12 for ridge in ridges)]),
        bottom=min([*(y / 3 for y in ys), peak / 40]),
        top=peak * 1.7,
    )


def _limits(ceilings: Sequence[Ceiling], frame: _Frame) -> Iterable[Row]:
    peaks = [each.value for each in ceilings if each.kind == "compute"]
    fastest = max((each.value for each in ceilings if each.kind == "bandwidth"), default=None)
    roof = max(peaks, default=frame.top)
    for each in ceilings:
        unit = "FLOP/s" if each.kind == "compute" else "B/s"
        shown = f"{rate(each.value)}{unit}"
        if each.kind == "compute":
            start = frame.low if fastest is None else max(frame.low, each.value / fastest)
            ends = (start, each.value, frame.high, each.value)
        else:
            x = max(frame.low, frame.bottom / each.value)
            ends = (x, each.value * x, roof / each.value, roof)
        yield {
            "what": "limit",
            "label": f"{each.label} ({each.origin})",
            "shown": shown,
            "kind": each.kind,
            "lower": each.kind == "compute" and each.value < roof,
            "assumed": each.origin == "datasheet",
            "text": f"{each.label} {shown}"
            + (" (datasheet)" if each.origin == "datasheet" else ""),
            "text_narrow": each.label,
            **dict(zip(("x", "y", "x2", "y2"), map(tidy, ends), strict=True)),
        }


def _points(points: Sequence[Point], limits: Sequence[Row], frame: _Frame) -> Iterable[Row]:
    named = {
        "": (WIDE, [each.name or each.level for each in points]),
        "_narrow": (NARROW, [each.short or each.name or each.level for each in points]),
    }
    placed: list[dict[str, object]] = [{} for _ in points]
    ends = [tuple(float(str(row[name])) for name in ("x", "y", "x2", "y2")) for row in limits]
    for suffix, (width, names) in named.items():
        pixels = [frame.pixels(each.flop_per_byte, each.flop_per_second, width) for each in points]
        written = tuple(_written(limits, f"text{suffix}", frame, width))
        lines = (*_lines(ends, frame, width), *_path(points, pixels))
        plot = Plot(width, HEIGHT, written, lines)
        found = places(pixels, names, plot)
        for position, place in enumerate(found):
            y = points[position].flop_per_second
            placed[position] |= {
                f"text{suffix}": names[position],
                f"right{suffix}": place.right,
                f"at{suffix}": tidy(frame.raised(y, place.rise)),
                f"far{suffix}": place.rise != 0,
            }
    for position, (point, place_of_name) in enumerate(zip(points, placed, strict=True)):
        yield {
            "what": "point",
            "label": point.label,
            "level": point.level,
            "x": tidy(point.flop_per_byte),
            "y": tidy(point.flop_per_second),
            "path": point.path,
            "order": position,
            "shown": f"{number(point.flop_per_byte)} FLOP per byte, "
            f"{rate(point.flop_per_second)}FLOP/s",
            **place_of_name,
            **({"hollow": True} if point.hollow else {}),
        }


def _lines(
    ends: Iterable[tuple[float, ...]], frame: _Frame, width: float
) -> tuple[tuple[float, float, float, float], ...]:
    return tuple(
        (*frame.pixels(x, y, width), *frame.pixels(x2, y2, width)) for x, y, x2, y2 in ends
    )


def _path(
    points: Sequence[Point], pixels: Sequence[tuple[float, float]]
) -> Iterable[tuple[float, float, float, float]]:
    """The lines that join the points of a path."""
    paths: dict[str, list[tuple[float, float]]] = {}
    for point, at in zip(points, pixels, strict=True):
        if point.path:
            paths.setdefault(point.path, []).append(at)
    return ((*start, *end) for joined in paths.values() for start, end in pairwise(joined))


def _written(
    limits: Sequence[Row], text: str, frame: _Frame, width: float
) -> Iterable[tuple[float, float, float, float]]:
    """Where the names of horizontal limits stand; those of slopes are above all points."""
    for row in limits:
        if row["kind"] == "compute":
            x, y = frame.pixels(float(str(row["x"])), float(str(row["y"])), width)
            top = y + _LIFT if row["lower"] else y - _LIFT - FONT_SIZE
            yield (x, top, x + CHARACTER * len(str(row[text])), top + FONT_SIZE)


def rate(value: float) -> str:
    """``8.82 T``: a number with the prefix of its unit."""
    size, prefix = next((each for each in _RATES if value >= each[0]), _RATES[-1])
    return f"{number(value / size)} {prefix}"


_SLOPE: Final = (
    "-180 / PI * atan2(height / log(domain('y')[1] / domain('y')[0]), "
    "width / log(domain('x')[1] / domain('x')[0]))"
)
"""The angle at which bandwidths rise in a plot of any width."""


def chart() -> Spec:
    """The specification; names take the places for a phone where the page is narrow."""
    return spec(
        height=HEIGHT,
        encoding={
            "x": axis("x", "FLOP per byte", **log_axis("~g")),
            "y": axis("y", "FLOP/s", **log_axis("~s")),
        },
        layer=[
            {
                "transform": [{"filter": "datum.what == 'corner'"}],
                "mark": {"type": "point", "opacity": 0, "size": 0, "aria": False},
            },
            *_limit_layers(),
            layer(
                "datum.what == 'point' && datum.path",
                {"type": "line", "strokeWidth": 1.5, "color": INK, "opacity": 0.55},
                order={"field": "order"},
                detail={"field": "path"},
            ),
            *_name_layers(),
            point_layer(),
        ],
    )


def _limit_layers() -> list[Spec]:
    limits = "datum.what == 'limit'"
    name = _chosen("text")
    return [
        layer(
            limits,
            {"type": "rule", "strokeWidth": 2, "color": ROOF},
            x2={"field": "x2"},
            y2={"field": "y2"},
            strokeDash={
                "condition": {"test": "datum.assumed", "value": [6, 4]},
                "value": [1, 0],
            },
            tooltip=tooltip(("label", "Limit"), ("shown", "At most")),
        ),
        *(
            layer(
                [{"filter": f"{limits} && datum.kind == 'compute' && {test}"}, name],
                {"type": "text", "align": "left", "baseline": base, "dx": 6, "dy": dy},
                text={"field": "name_text"},
            )
            for test, base, dy in (
                ("!datum.lower", "bottom", -_LIFT),
                ("datum.lower", "top", _LIFT),
            )
        ),
        layer(
            [{"filter": f"{limits} && datum.kind == 'bandwidth'"}, name],
            {
                "type": "text",
                "align": "right",
                "baseline": "bottom",
                "dx": -14,
                "dy": -3,
                "angle": {"expr": _SLOPE},
            },
            x={"field": "x2", "type": "quantitative"},
            y={"field": "y2", "type": "quantitative"},
            text={"field": "name_text"},
        ),
    ]


def _name_layers() -> list[Spec]:
    """Names to the right and to the left of their points, with a line to those further away."""
    fields = ("text", "right", "at", "far")
    chosen = [{"filter": "datum.what == 'point'"}, *map(_chosen, fields)]
    found: list[Spec] = []
    for side, sign, align in (("datum.name_right", 1, "left"), ("!datum.name_right", -1, "right")):
        found.append(
            layer(
                [*chosen, {"filter": f"{side} && datum.name_far"}],
                {"type": "rule", "x2Offset": 8 * sign, "color": MUTED, "strokeWidth": 1},
                x2={"field": "x"},
                y2={"field": "name_at"},
            )
        )
        found += over(
            [*chosen, {"filter": side}],
            {"type": "text", "align": align, "dx": 9 * sign},
            y={"field": "name_at", "type": "quantitative"},
            text={"field": "name_text"},
        )
    return found


def _chosen(field: str) -> Spec:
    """A field of a row, or its counterpart for a narrow page."""
    choice = f"width >= {WIDE_FROM} ? datum.{field} : datum.{field}_narrow"
    return {"calculate": choice, "as": f"name_{field}"}


def point_layer() -> Spec:
    """Points with the colour and the shape of their level."""
    return layer(
        "datum.what == 'point'",
        {**POINT, "size": 120},
        color=look("level", {level: colour for level, (colour, _) in LEVELS.items()}),
        shape=look("level", {level: shape for level, (_, shape) in LEVELS.items()}),
        tooltip=tooltip(("label", "What"), ("x", "FLOP per byte", ".3~g"), ("y", "FLOP/s", ".3~s")),
    )


KIND: Final = Kind(chart, table=(("What", "label", "text"), ("Value", "shown", "text")), wide=True)
