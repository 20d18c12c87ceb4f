"""The launches of both sides of a comparison: dots in their order, medians with their intervals.

A side is told by its place and its name; colours only repeat that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kernelprof.report.charts.parts import (
    ACCENT,
    INK,
    MUTED,
    Kind,
    Row,
    Spec,
    axis,
    layer,
    over,
    spec,
    tidy,
    tooltip,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

BEFORE: Final = "var(--before)"
AFTER: Final = ACCENT
_BAND: Final = 84
_LANES: Final = {"Before": 0.0, "After": 1.0}
_TEXT: Final = 0.14
_DOTS: Final = (0.36, 0.84)
_MIDDLE: Final = 0.6
"""Where in a side's lane its text, its launches and its median stand, from top to bottom."""

_SECONDS: Final = "replace(format(datum.value, '.6~s'), regexp('([a-zA-Zµ]?)$'), ' $1') + 's'"
_LEFT_FROM: Final = 0.5
"""Part of the axis from which a text stands to the left of its point."""


NEAR: Final = 1.25
"""Ratio of the medians below which an axis from zero would hide the difference."""


@dataclass(frozen=True, slots=True)
class Side:
    """Times of one side in seconds: launches in their order, the median and its 95 % interval.

    ``text`` is the same in words, most important first, between commas.
    """

    side: str
    """``Before`` or ``After``."""
    seconds: tuple[float, ...]
    median: float
    low: float | None
    high: float | None
    text: str


def kind(before: Side, after: Side) -> str:
    """The kind of chart that fits both sides."""
    return "launches:near" if _near(before, after) else "launches"


def _near(before: Side, after: Side) -> bool:
    low, high = sorted((before.median, after.median))
    return high < low * NEAR


def rows(before: Side, after: Side, floor: float | None) -> tuple[Row, ...]:
    """Launches in their order, and for each side its median with the interval and a line of text.

    Corners keep the axis: from zero where the sides lie apart, else around the launches. ``floor``
    is the relative difference that counts as noise.
    """
    low, high = _range(before, after, floor)
    found: list[Row] = [{"what": "corner", "x": tidy(low), "y": 0.0}]
    found.append({"what": "corner", "x": tidy(high), "y": float(len(_LANES))})
    if _near(before, after) and floor:
        noise = (before.median * (1 - floor), before.median * (1 + floor))
        found.append({"what": "noise", "x": _exact(noise[0]), "x2": _exact(noise[1])})
    for each in (before, after):
        found += _side_rows(each, (each.median - low) / (high - low) >= _LEFT_FROM)
    return tuple(found)


def _range(before: Side, after: Side, floor: float | None) -> tuple[float, float]:
    sides = (before, after)
    if not _near(before, after):
        return 0.0, 1.06 * max(max(each.seconds) for each in sides)
    ends = [end for each in sides for end in (min(each.seconds), max(each.seconds), each.median)]
    if floor:
        ends += [before.median * (1 + sign * floor) for sign in (-1, 1)]
    low, high = min(ends), max(ends)
    room = 0.05 * (high - low) or 0.01 * high
    return low - room, high + room


def _side_rows(side: Side, left: bool) -> Iterable[Row]:
    lane, many = _LANES[side.side], len(side.seconds)
    for order, seconds in enumerate(side.seconds):
        part = order / (many - 1) if many > 1 else 0.5
        y = lane + _DOTS[0] + part * (_DOTS[1] - _DOTS[0])
        yield {
            "what": "launch",
            "side": side.side,
            "x": _exact(seconds),
            "y": tidy(y),
            "order": order + 1,
        }
    yield {
        "what": "median",
        "side": side.side,
        "x": _exact(side.median),
        "low": _exact(side.median if side.low is None else side.low),
        "high": _exact(side.median if side.high is None else side.high),
        "y": lane + _MIDDLE,
        "top": lane + _DOTS[0] - 0.08,
        "bottom": lane + _DOTS[1] + 0.08,
        "line": lane + _TEXT,
        "left": left,
        "text": f"{side.side}: {side.text}",
        "short": f"{side.side}: {side.text.partition(',')[0]}",
    }


def _exact(seconds: float) -> float:
    """Nine digits: launches of one kernel differ in the fifth."""
    return float(f"{seconds:.9g}")


def chart(scale: str = "") -> Spec:
    """Launches as dots in their order from top to bottom, with the median across them."""
    near = scale == "near"
    x = axis(
        "x",
        "Time of a launch" + ("; the axis does not begin at zero" if near else ""),
        scale={"zero": not near, "nice": False},
        axis={"labelExpr": _SECONDS, "tickCount": 5, "titleAnchor": "start"},
    )
    y: Spec = {
        "field": "y",
        "type": "quantitative",
        "scale": {"domain": [0, len(_LANES)], "reverse": True, "nice": False},
        "axis": None,
    }
    colour: Spec = {"condition": {"test": "datum.side == 'After'", "value": AFTER}, "value": BEFORE}
    median = "datum.what == 'median'"
    noise = layer(
        "datum.what == 'noise'",
        {"type": "rect", "color": MUTED, "opacity": 0.14},
        x=x,
        x2={"field": "x2"},
        y={"value": 0},
        y2={"value": len(_LANES) * _BAND},
    )
    bar = layer(
        median,
        {"type": "rect", "opacity": 0.22},
        x=x,
        x2={"datum": 0},
        y={**y, "field": "top"},
        y2={"field": "bottom"},
        color=colour,
    )
    interval = tooltip(
        ("text", "Launches"), ("low", "95 % from (s)", ".6~s"), ("high", "to (s)", ".6~s")
    )
    return spec(
        height=len(_LANES) * _BAND,
        layer=[
            layer(
                "datum.what == 'corner'", {"type": "point", "opacity": 0, "aria": False}, x=x, y=y
            ),
            noise if near else bar,
            layer(
                "datum.what == 'launch'",
                {"type": "point", "filled": True, "size": 34, "opacity": 0.6},
                x=x,
                y=y,
                color=colour,
                tooltip=tooltip(("side", "Side"), ("order", "Launch"), ("x", "Time (s)", ".6~s")),
            ),
            layer(
                median,
                {"type": "rule", "strokeWidth": 7, "strokeCap": "butt", "opacity": 0.5},
                x={**x, "field": "low"},
                x2={"field": "high"},
                y=y,
                color=colour,
                tooltip=interval,
            ),
            layer(
                median,
                {"type": "rule", "strokeWidth": 2, "color": INK},
                x=x,
                y={**y, "field": "top"},
                y2={"field": "bottom"},
                tooltip=interval,
            ),
            *_texts(median, x, y),
        ],
    )


def _texts(median: str, x: Spec, y: Spec) -> list[Spec]:
    """A side's figures above its launches, on whichever side of the median there is room."""
    found: list[Spec] = []
    for width, field in (("width >= 560", "text"), ("width < 560", "short")):
        for side, align, away in (("datum.left", "right", 3), ("!datum.left", "left", -3)):
            found += over(
                f"{median} && {width} && {side}",
                {"type": "text", "align": align, "dx": away, "fontWeight": "bold"},
                x=x,
                y={**y, "field": "line"},
                text={"field": field},
            )
    return found


KIND: Final = Kind(chart, wide=True)
