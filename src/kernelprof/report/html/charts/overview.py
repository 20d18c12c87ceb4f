"""The kernels of a capture by their share of time, with their verdicts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kernelprof.model.numbers import share
from kernelprof.report.html.charts.parts import (
    CHARACTER,
    INSIDE,
    NAMES,
    PERCENT,
    ROW_HEIGHT,
    Row,
    Spec,
    spec,
    tidy,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernelprof.report.html.view import KernelView

MOST_SHOWN: Final = 20
COLOURS: Final = {
    "bottleneck": "var(--bar-held)",
    "at-limit": "var(--bar-limit)",
    "inconclusive": "var(--bar-open)",
    "others": "var(--bar-rest)",
}


def rows(kernels: Sequence[KernelView]) -> list[Row]:
    """The kernels with the largest shares of time, and all others as one."""
    known = [each for each in kernels if each.time_share is not None]
    shown: list[Row] = [
        {
            "name": f"{position} {each.name}",
            "share": tidy(each.time_share or 0.0),
            "text": share(each.time_share),
            "verdict": each.bottleneck or each.status,
            "status": each.status,
        }
        for position, each in enumerate(known[:MOST_SHOWN], start=1)
    ]
    rest = sum(each.time_share or 0.0 for each in known[MOST_SHOWN:])
    if rest > 0:
        name = f"{len(known) - MOST_SHOWN} others"
        others: Row = {"name": name, "share": tidy(rest), "text": share(rest)}
        shown.append({**others, "verdict": "", "status": "others"})
    return shown


def chart() -> Spec:
    """The specification; a verdict stands behind its bar, inside it, or only in the table.

    The widest bar is taken for as wide as the plot, which it is but for the last tick.
    """
    x: Spec = {
        "field": "share",
        "type": "quantitative",
        "title": "Share of time",
        "axis": {"labelExpr": PERCENT, "tickCount": 5},
    }
    scale = {"domain": list(COLOURS), "range": list(COLOURS.values())}
    length = f"({CHARACTER} * length(datum.verdict) + 12)"
    bar = "(width * datum.share / datum.most)"
    behind = f"{bar} + {length} < width"
    return spec(
        height={"step": ROW_HEIGHT},
        transform=[{"joinaggregate": [{"op": "max", "field": "share", "as": "most"}]}],
        encoding={
            "x": x,
            "y": NAMES,
            "tooltip": [
                {"field": "name", "title": "Kernel"},
                {"field": "text", "title": "Share of time"},
                {"field": "verdict", "title": "Verdict"},
            ],
        },
        layer=[
            {
                "mark": {"type": "bar", "cornerRadiusEnd": 3},
                "encoding": {
                    "color": {
                        "field": "status",
                        "type": "nominal",
                        "legend": None,
                        "scale": scale,
                    }
                },
            },
            {
                "transform": [{"filter": behind}],
                "mark": {"type": "text", "align": "left", "dx": 4},
                "encoding": {"text": {"field": "verdict"}},
            },
            {
                "transform": [{"filter": f"!({behind}) && {bar} > {length}"}],
                "mark": {"type": "text", "align": "right", "dx": -6, "color": INSIDE},
                "encoding": {"text": {"field": "verdict"}},
            },
        ],
    )
