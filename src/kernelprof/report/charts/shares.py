"""Parts of a whole: reasons for waiting, pipes, kinds of instructions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kernelprof.report.charts.parts import (
    BAR,
    FIRST,
    NAMES,
    ROW_HEIGHT,
    SHARES,
    Kind,
    Row,
    Spec,
    axis,
    behind,
    layer,
    spec,
    tidy,
    tooltip,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

TITLES: Final = {
    "warps": "Share of a warp's time",
    "pipes": "Utilization",
    "instructions": "Share of the instructions",
}
"""What the axis says, by the option of the chart's kind."""


@dataclass(frozen=True, slots=True)
class Share:
    """A part of a whole, 0 to 1, and what its name means."""

    name: str
    share: float
    tip: str = ""


def rows(shares: Iterable[Share]) -> tuple[Row, ...]:
    """A bar each; the first stands out."""
    return tuple(
        {
            "name": each.name,
            "share": tidy(each.share),
            "text": f"{100 * each.share:.1f} %",
            "first": position == 0,
            "tip": each.tip,
        }
        for position, each in enumerate(shares)
        if each.share > 0
    )


def chart(what: str) -> Spec:
    """Shares of a whole, one bar each, in their order."""
    title = TITLES[what]
    return spec(
        height={"step": ROW_HEIGHT},
        encoding={
            "x": axis("share", title, **SHARES),
            "y": NAMES,
            "tooltip": tooltip(("name", "Name"), ("text", title)),
        },
        layer=[layer("", BAR, color=FIRST), behind()],
    )


KIND: Final = Kind(
    chart, table=(("What", "name", "text"), ("Share", "share", "share"), ("Meaning", "tip", "tip"))
)
