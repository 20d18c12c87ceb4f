"""The roofline of a comparison: hollow marks where a way begins, and arrows along it."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from kernelprof.report.charts import roofline
from kernelprof.report.charts.parts import INK, PANEL, Kind, Row, Spec, layer, tidy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernelprof.report.charts.roofline import Ceiling, Point

_SHORTEST_ARROW: Final = 30.0
"""Pixels of a way below which the head of an arrow would cover it."""


def rows(points: Sequence[Point], ceilings: Sequence[Ceiling]) -> tuple[Row, ...]:
    """As of any roofline, with the head of an arrow on each way."""
    found = roofline.rows(points, ceilings)
    paths: dict[str, list[Point]] = {}
    for point in points:
        if point.path:
            paths.setdefault(point.path, []).append(point)
    corners = [row for row in found if row["what"] == "corner"]
    if len(corners) != 2:
        return found
    spans = [
        math.log(float(str(corners[1][axis])) / float(str(corners[0][axis]))) for axis in ("x", "y")
    ]
    arrows = [
        _arrow(start, end, spans) for joined in paths.values() for start, end in pairwise(joined)
    ]
    return (*found, *(each for each in arrows if each))


def _arrow(start: Point, end: Point, spans: Sequence[float]) -> Row:
    """The head in the middle of a way; nothing where the way is short."""
    across = math.log(end.flop_per_byte / start.flop_per_byte) / spans[0]
    up = math.log(end.flop_per_second / start.flop_per_second) / spans[1]
    if math.hypot(across * roofline.NARROW, up * roofline.HEIGHT) < _SHORTEST_ARROW:
        return {}
    return {
        "what": "arrow",
        "level": end.level,
        "x": tidy(math.sqrt(start.flop_per_byte * end.flop_per_byte)),
        "y": tidy(math.sqrt(start.flop_per_second * end.flop_per_second)),
        "across": tidy(across),
        "up": tidy(up),
    }


def chart() -> Spec:
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


KIND: Final = Kind(chart, table=roofline.KIND.table, wide=True)
