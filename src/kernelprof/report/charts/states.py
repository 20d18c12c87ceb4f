"""Warp states before and after, as pairs of bars.

A side is told by its place and its name; colours only repeat that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kernelprof.report.charts.launches import AFTER, BEFORE
from kernelprof.report.charts.parts import (
    NAMES,
    SHARES,
    Key,
    Kind,
    Row,
    Spec,
    axis,
    behind,
    layer,
    look,
    spec,
    tidy,
    tooltip,
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
    names = {**NAMES, "axis": {**NAMES["axis"], "labelPadding": 6}}
    offset: Spec = {"field": "side", "sort": ["Before", "After"]}
    return spec(
        height={"step": 14, "for": "offset"},
        encoding={
            "x": axis("share", "Share of a warp's time", **SHARES),
            "y": names,
            "yOffset": offset,
            "tooltip": tooltip(("name", "Reason"), ("side", "Side"), ("text", "Share")),
        },
        layer=[
            layer(
                "",
                {"type": "bar", "cornerRadiusEnd": 2},
                color=look("side", {"Before": BEFORE, "After": AFTER}),
            ),
            behind(mark={"fontSize": 11}),
        ],
    )


KIND: Final = Kind(chart, wide=True, legend=lambda _: (Key("before", BEFORE), Key("after", AFTER)))
