"""Warp states before and after, as pairs of bars.

A side is told by its place and its name; colours only repeat that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kernelprof.report.charts.launches import AFTER, BEFORE
from kernelprof.report.charts.parts import (
    NAMES,
    PERCENT,
    QUARTERS,
    WHOLE,
    Key,
    Kind,
    Row,
    Spec,
    spec,
    tidy,
)

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True, slots=True)
class State:
    """A warp state by its share of a warp's time on both sides, 0 to 1."""

    name: str
    before: float
    after: float


def rows(states: Iterable[State]) -> tuple[Row, ...]:
    """Two rows a warp state, before and after."""
    return tuple(
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
    )


def chart() -> Spec:
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


KIND: Final = Kind(chart, wide=True, legend=lambda _: (Key("before", BEFORE), Key("after", AFTER)))
