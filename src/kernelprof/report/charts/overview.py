"""The kernels of a capture by their share of time, with their verdicts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kernelprof.model.numbers import share
from kernelprof.report.charts.parts import (
    BAR,
    CHARACTER,
    INSIDE,
    NAMES,
    PERCENT,
    ROW_HEIGHT,
    Key,
    Kind,
    Row,
    Rows,
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
    from collections.abc import Iterable, Sequence

MOST_SHOWN: Final = 20
COLOURS: Final = {
    "bottleneck": "var(--bar-held)",
    "at-limit": "var(--bar-limit)",
    "inconclusive": "var(--bar-open)",
    "others": "var(--bar-rest)",
}


_WORDS: Final = {
    "bottleneck": "limited by a bottleneck",
    "at-limit": "at its limit",
    "inconclusive": "inconclusive",
}


@dataclass(frozen=True, slots=True)
class Bar:
    """A kernel with its part of the time, 0 to 1."""

    name: str
    share: float
    status: str
    verdict: str


def rows(kernels: Iterable[Bar]) -> tuple[Row, ...]:
    """The kernels with the largest shares of time, and all others as one."""
    known = list(kernels)
    shown: list[Row] = [
        {
            "name": f"{position} {each.name}",
            "share": tidy(each.share),
            "text": share(each.share),
            "verdict": each.verdict,
            "status": each.status,
        }
        for position, each in enumerate(known[:MOST_SHOWN], start=1)
    ]
    rest = sum(each.share for each in known[MOST_SHOWN:])
    if rest > 0:
        name = f"{len(known) - MOST_SHOWN} others"
        others: Row = {"name": name, "share": tidy(rest), "text": share(rest)}
        shown.append({**others, "verdict": "", "status": "others"})
    return tuple(shown)


def _legend(rows: Rows) -> Sequence[Key]:
    found = {row["status"] for row in rows}
    return [Key(words, COLOURS[status]) for status, words in _WORDS.items() if status in found]


def chart() -> Spec:
    """The specification; a verdict stands behind its bar, inside it, or only in the table.

    The widest bar is taken for as wide as the plot, which it is but for the last tick.
    """
    length = f"({CHARACTER} * length(datum.verdict) + 12)"
    bar = "(width * datum.share / datum.most)"
    fits = f"{bar} + {length} < width"
    return spec(
        height={"step": ROW_HEIGHT},
        transform=[{"joinaggregate": [{"op": "max", "field": "share", "as": "most"}]}],
        encoding={
            "x": axis("share", "Share of time", axis={"labelExpr": PERCENT, "tickCount": 5}),
            "y": NAMES,
            "tooltip": tooltip(
                ("name", "Kernel"), ("text", "Share of time"), ("verdict", "Verdict")
            ),
        },
        layer=[
            layer("", BAR, color=look("status", COLOURS)),
            behind("verdict", fits),
            layer(
                f"!({fits}) && {bar} > {length}",
                {"type": "text", "align": "right", "dx": -6, "color": INSIDE},
                text={"field": "verdict"},
            ),
        ],
    )


KIND: Final = Kind(chart, wide=True, legend=_legend)
