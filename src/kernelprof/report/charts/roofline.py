"""The roofline: limits as lines, kernels as points, and the way from one point to the next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kernelprof.model.numbers import number
from kernelprof.report.charts.parts import (
    INK,
    PANEL,
    POINT,
    ROOF,
    Key,
    Kind,
    Row,
    Rows,
    Spec,
    axis,
    layer,
    log_axis,
    looks,
    spec,
    tidy,
    tooltip,
    written,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MEASURED: Final = "measured"
COMPUTED: Final = "computed"
DATASHEET: Final = "datasheet"
LEVELS: Final = {
    "DRAM": ("var(--point-dram)", "circle"),
    "L2": ("var(--point-l2)", "square"),
    "L1": ("var(--point-l1)", "triangle-up"),
    "ideal": ("var(--point-ideal)", "diamond"),
    "branch": ("var(--point-branch)", "cross"),
}
"""Colour and shape of a point by its level; ``branch`` is DRAM for a kernel beside the way."""

_WORDS: Final = {
    "DRAM": "at device memory",
    "L2": "at L2",
    "L1": "at L1",
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
    """

    label: str
    kind: str
    value: float
    origin: str

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
            "below": each.kind == "compute" and each.value < roof,
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


_SLOPE: Final = (
    "-180 / PI * atan2(height / log(domain('y')[1] / domain('y')[0]), "
    "width / log(domain('x')[1] / domain('x')[0]))"
)
"""The angle at which bandwidths rise in a plot of any width."""

_X: Final = axis("x", "FLOP per byte", **log_axis("~g"))
_Y: Final = axis("y", "FLOP/s", **log_axis("~s"))


def _limit_layers() -> list[Spec]:
    limits = "datum.what == 'limit'"
    x, y = {**_X, "field": "x2"}, {**_Y, "field": "y2"}
    dashes = {"condition": {"test": "datum.assumed", "value": [6, 4]}, "value": [1, 0]}
    return [
        layer(
            limits,
            {"type": "rule", "strokeWidth": 2, "color": ROOF},
            x2={"field": "x2"},
            y2={"field": "y2"},
            strokeDash=dashes,
            tooltip=tooltip(("label", "Limit"), ("shown", "At most")),
        ),
        *(
            written(f"{limits} && {test}", {"align": "right", **mark}, x=x, y=y)
            for test, mark in (
                ("datum.kind == 'compute' && !datum.below", {"dy": -10}),
                ("datum.below", {"dy": 10}),
                ("datum.kind == 'bandwidth'", {"dx": -14, "dy": -9, "angle": {"expr": _SLOPE}}),
            )
        ),
    ]


def _chart() -> Spec:
    look = looks("level", LEVELS)
    colour = look.pop("color")
    inside = {"condition": {"test": "datum.hollow", "value": PANEL}, **colour}
    tips = tooltip(("label", "What"), ("x", "FLOP per byte", ".3~g"), ("y", "FLOP/s", ".3~s"))
    return spec(
        height=380,
        encoding={"x": _X, "y": _Y},
        layer=[
            layer("datum.what == 'corner'", {"type": "point", "opacity": 0, "aria": False}),
            *_limit_layers(),
            layer(
                "datum.what == 'point' && datum.path",
                {"type": "line", "strokeWidth": 1.5, "color": INK, "opacity": 0.55},
                order={"field": "order"},
                detail={"field": "path"},
            ),
            layer(
                "datum.what == 'point'",
                {**POINT, "size": 120, "strokeWidth": 2},
                stroke=colour,
                fill=inside,
                tooltip=tips,
                **look,
            ),
            written("datum.what == 'point'", {"dy": -14}),
        ],
    )


def _legend(rows: Rows) -> Sequence[Key]:
    found = {row.get("level") for row in rows}
    return [Key(_WORDS[level], *LEVELS[level]) for level in LEVELS if level in found]


KIND: Final = Kind(
    _chart,
    table=(("What", "label", "text"), ("Value", "shown", "text")),
    wide=True,
    legend=_legend,
)
