"""Blocks that each resource allows an SM."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelprof.report.html.charts.parts import FIRST, NAMES, ROW_HEIGHT, Row, Spec, spec

if TYPE_CHECKING:
    from kernelprof.report.html.view import Occupancy


def rows(occupancy: Occupancy) -> list[Row]:
    """A bar a resource; those with the fewest blocks stand out."""
    return [
        {"name": name, "blocks": blocks, "first": name in occupancy.limiters}
        for name, blocks in occupancy.limits
    ]


def chart() -> Spec:
    """The specification."""
    x: Spec = {
        "field": "blocks",
        "type": "quantitative",
        "title": "Blocks an SM",
        "axis": {"tickMinStep": 1, "tickCount": 5, "format": "d"},
    }
    return spec(
        height={"step": ROW_HEIGHT},
        encoding={"x": x, "y": NAMES},
        layer=[
            {"mark": {"type": "bar", "cornerRadiusEnd": 3}, "encoding": {"color": FIRST}},
            {
                "mark": {"type": "text", "align": "left", "dx": 4},
                "encoding": {"text": {"field": "blocks", "format": "d"}},
            },
        ],
    )
