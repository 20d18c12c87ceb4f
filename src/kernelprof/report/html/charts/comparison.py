"""Charts of a comparison: kernels by their change, warp states, the way on a roofline.

A side is told by its place and its name; colours only repeat that.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from kernelprof.report.html.charts import roofline
from kernelprof.report.html.charts.launches import AFTER, BEFORE
from kernelprof.report.html.charts.parts import (
    INK,
    MUTED,
    NAMES,
    PANEL,
    PERCENT,
    QUARTERS,
    WHOLE,
    Row,
    Spec,
    layer,
    spec,
    tidy,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernelprof.report.html.comparison_view import (
        ChangedKernel,
        StatePair,
    )
    from kernelprof.report.html.view import Roofline, RooflinePoint

MOST_KERNELS: Final = 20
NEAR: Final = (2 / 3, 1.5)
"""Ratios of time within which an axis of percentages is read more easily than one of factors."""

OUTCOMES: Final = {
    "slower": ("var(--bar-held)", "triangle-up"),
    "faster": ("var(--bar-limit)", "triangle-down"),
    "undecided": ("var(--bar-open)", "diamond"),
    "same": ("var(--bar-rest)", "circle"),
    "unknown": ("var(--bar-rest)", "cross"),
}
_SHORTEST_ARROW: Final = 30.0
"""Pixels of a way below which the head of an arrow would cover it."""


def kernel_rows(kernels: Sequence[ChangedKernel]) -> list[Row]:
    """The kernels that take most of the time, each with its change and its interval."""
    known = [each for each in kernels[:MOST_KERNELS] if each.ratio is not None and each.ratio > 0]
    return [
        {
            "name": f"{position} {each.name}",
            "ratio": tidy(each.ratio or 1.0),
            "percent": tidy((each.ratio or 1.0) - 1),
            "low": tidy(_ends(each)[0]),
            "high": tidy(_ends(each)[-1]),
            "percent_low": tidy(_ends(each)[0] - 1),
            "percent_high": tidy(_ends(each)[-1] - 1),
            "outcome": each.sign.style,
            "text": each.short,
        }
        for position, each in enumerate(kernels[:MOST_KERNELS], start=1)
        if each in known
    ]


def are_near(kernels: Sequence[ChangedKernel]) -> bool:
    """Whether all changes are told best as percentages."""
    known = [each for each in kernels[:MOST_KERNELS] if each.ratio is not None and each.ratio > 0]
    return all(NEAR[0] < ratio < NEAR[1] for each in known for ratio in _ends(each))


def _ends(kernel: ChangedKernel) -> list[float]:
    return sorted(
        each
        for each in (kernel.low, kernel.ratio, kernel.high)
        if each is not None and 0 < each < math.inf
    )


_ROOM: Final = "width >= 420"
_WORDS: Final = 150
"""Pixels to the right of the axis for what happened in words, where the page has that room."""

_FACTORS: Final = (
    "datum.value == 1 ? 'as before' : datum.value < 1 ? "
    "format(1 / datum.value, '.3~g') + 'x faster' : format(datum.value, '.3~g') + 'x slower'"
)
_PERCENTS: Final = (
    "datum.value == 0 ? 'as before' : format(100 * abs(datum.value), '.3~g') + ' % ' + "
    "(datum.value < 0 ? 'faster' : 'slower')"
)


def kernels_chart(*, near: bool) -> Spec:
    """A mark a kernel at its change, with its interval as a line; the middle is as before."""
    value, ends = ("percent", "percent_") if near else ("ratio", "")
    x: Spec = {
        "field": value,
        "type": "quantitative",
        "title": None,
        "scale": {
            **({"zero": True} if near else {"type": "log"}),
            "range": [0, {"expr": f"{_ROOM} ? width - {_WORDS} : width - 12"}],
        },
        "axis": {
            "labelExpr": _PERCENTS if near else _FACTORS,
            "labelOverlap": "greedy",
            "tickCount": 5,
        },
    }
    levels = list(OUTCOMES)
    scale = {"domain": levels}
    colour: Spec = {
        "field": "outcome",
        "type": "nominal",
        "legend": None,
        "scale": {**scale, "range": [colour for colour, _ in OUTCOMES.values()]},
    }
    shape = {**colour, "scale": {**scale, "range": [shape for _, shape in OUTCOMES.values()]}}
    return spec(
        height={"step": 26},
        encoding={"y": NAMES},
        layer=[
            {
                "mark": {"type": "rule", "color": MUTED, "strokeDash": [4, 3]},
                "encoding": {
                    "x": {
                        **{key: part for key, part in x.items() if key != "field"},
                        "datum": 0 if near else 1,
                    },
                    "y": {"value": 0},
                    "y2": {"value": {"expr": "height"}},
                },
            },
            {
                "mark": {"type": "rule", "strokeWidth": 3},
                "encoding": {
                    "x": {**x, "field": f"{ends}low"},
                    "x2": {"field": f"{ends}high"},
                    "color": colour,
                },
            },
            {
                "transform": [{"filter": _ROOM}],
                "mark": {"type": "text", "align": "right"},
                "encoding": {"x": {"value": {"expr": "width"}}, "text": {"field": "text"}},
            },
            {
                "mark": {"type": "point", "filled": True, "size": 110, "opacity": 1},
                "encoding": {
                    "x": x,
                    "color": colour,
                    "shape": shape,
                    "tooltip": [
                        {"field": "name", "title": "Kernel"},
                        {"field": "text", "title": "Change"},
                        {"field": "ratio", "title": "After over before"},
                    ],
                },
            },
        ],
    )


def state_rows(states: Sequence[StatePair]) -> list[Row]:
    """Two rows a warp state, before and after."""
    return [
        {
            "name": each.name,
            "side": side,
            "share": tidy(share),
            "text": f"{100 * share:.1f} %",
            "before": tidy(each.before),
            "after": tidy(each.after),
        }
        for each in states
        for side, share in (("Before", each.before), ("After", each.after))
    ]


def states_chart() -> Spec:
    """Pairs of bars: above before, below after."""
    x: Spec = {
        "field": "share",
        "type": "quantitative",
        "title": "Share of a warp's time",
        "axis": {"labelExpr": PERCENT, "values": QUARTERS},
        "scale": WHOLE,
    }
    names = {**NAMES, "axis": {**NAMES["axis"], "labelPadding": 6}}
    offset: Spec = {"field": "side", "sort": ["Before", "After"]}
    colour = {
        "field": "side",
        "type": "nominal",
        "legend": None,
        "scale": {"domain": ["Before", "After"], "range": [BEFORE, AFTER]},
    }
    tooltip = [
        {"field": "name", "title": "Reason"},
        {"field": "side", "title": "Side"},
        {"field": "text", "title": "Share"},
    ]
    return spec(
        height={"step": 14, "for": "offset"},
        encoding={"x": x, "y": names, "yOffset": offset, "tooltip": tooltip},
        layer=[
            {"mark": {"type": "bar", "cornerRadiusEnd": 2}, "encoding": {"color": colour}},
            {
                "mark": {"type": "text", "align": "left", "dx": 4, "fontSize": 11},
                "encoding": {"text": {"field": "text"}},
            },
        ],
    )


def roofline_rows(both: Roofline) -> list[Row]:
    """As of any roofline, with the head of an arrow on each way."""
    found = roofline.rows(both)
    paths: dict[str, list[RooflinePoint]] = {}
    for point in both.points:
        if point.path:
            paths.setdefault(point.path, []).append(point)
    corners = [row for row in found if row["what"] == "corner"]
    if len(corners) != 2:
        return found
    spans = [
        math.log(float(str(corners[1][axis])) / float(str(corners[0][axis]))) for axis in ("x", "y")
    ]
    for joined in paths.values():
        for start, end in pairwise(joined):
            across = math.log(end.flop_per_byte / start.flop_per_byte) / spans[0]
            up = math.log(end.flop_per_second / start.flop_per_second) / spans[1]
            if math.hypot(across * roofline.NARROW, up * roofline.HEIGHT) < _SHORTEST_ARROW:
                continue
            found.append(
                {
                    "what": "arrow",
                    "level": end.level,
                    "x": tidy(math.sqrt(start.flop_per_byte * end.flop_per_byte)),
                    "y": tidy(math.sqrt(start.flop_per_second * end.flop_per_second)),
                    "across": tidy(across),
                    "up": tidy(up),
                }
            )
    return found


def roofline_chart() -> Spec:
    """The roofline with hollow marks where a way begins, and arrows."""
    whole = roofline.chart()
    marks = roofline.point_layer()
    colours = marks["encoding"]["color"]
    arrow = layer(
        "datum.what == 'arrow'",
        {
            "type": "point",
            "shape": "triangle-up",
            "filled": True,
            "size": 130,
            "opacity": 1,
            "color": INK,
            "angle": {"expr": "180 / PI * atan2(datum.across * width, datum.up * height)"},
        },
    )
    filled = {**marks, "transform": [{"filter": "datum.what == 'point' && !datum.hollow"}]}
    hollow = {
        **marks,
        "transform": [{"filter": "datum.what == 'point' && datum.hollow"}],
        "mark": {
            "type": "point",
            "filled": False,
            "fill": PANEL,
            "size": 120,
            "strokeWidth": 2.5,
            "opacity": 1,
        },
        "encoding": {**marks["encoding"], "color": None, "stroke": colours},
    }
    hollow["encoding"].pop("color")
    *below, _ = whole["layer"]
    return {**whole, "layer": [*below, arrow, hollow, filled]}
