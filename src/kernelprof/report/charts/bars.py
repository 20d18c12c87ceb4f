"""Bars with names: parts of a whole, blocks that fit, states before and after, the climb."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from kernelprof.report.charts.drawing import ACCENT, BEFORE, ChartKind, Key, tidy
from kernelprof.report.markup import classes, element, joined, template_environment

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from markupsafe import Markup

TITLES: Final = {
    "warps": "Share of a warp's time",
    "pipes": "Utilization",
    "instructions": "Share of the instructions",
}
"""What is shared out, by the option of the chart's name."""

UNIT_OF: Final = {"gflops": "GFLOP/s", "tflops": "TFLOP/s"}
"""The unit of a climb by the option of the chart's name, which the first does not need."""


@dataclass(frozen=True, slots=True)
class Share:
    """A part of a whole, 0 to 1, and what its name means."""

    name: str
    share: float
    tip: str = ""


class BarRow(NamedTuple):
    """A name, a bar over a ``part`` of its column, 0 to 1, with its class, and what it says.

    The name of a row ``before`` or ``after`` a change has that word for those who do not see it.
    """

    name: str
    part: float
    text: str
    look: str = ""
    tip: str = ""
    state: str = ""


class ClimbBar(NamedTuple):
    """A rung with its rate, its time and its verdict; one that ``leads`` up stands out."""

    name: str
    rate: float | None
    leads: bool
    text: str
    time: str


class ClimbLimit(NamedTuple):
    """A rate that no rung exceeds."""

    text: str
    rate: float


class WaterfallStep(NamedTuple):
    """A time, or a change of it from ``start`` to ``end``; ``look`` is its class."""

    name: str
    start: float
    end: float
    look: str
    text: str


def waterfall_step(name: str, start: float, end: float, look: str, text: str) -> WaterfallStep:
    """A step with no more digits than a picture shows."""
    return WaterfallStep(name, tidy(start), tidy(end), look, text)


def share_row(share: Share, look: str, state: str = "") -> BarRow:
    """A part of a whole with its number."""
    text = f"{100 * share.share:.1f} %"
    return BarRow(share.name, tidy(share.share), text, look, share.tip, state)


def share_rows(shares: Iterable[Share]) -> tuple[BarRow, ...]:
    """A bar each; the first stands out."""
    return tuple(
        share_row(each, "fill" if position else "fill first")
        for position, each in enumerate(shares)
        if each.share > 0
    )


def _bars(rows: Iterable[BarRow], *_: str, look: str = "bars") -> Markup:
    table: Markup = template_environment().get_template("bars.html").module.bars(rows, look)  # type: ignore[attr-defined]
    return table


def _states(rows: Iterable[BarRow]) -> Markup:
    return _bars(rows, look="bars pairs")


def _row(name: str, track: Iterable[Markup], text: Markup | str, **text_look: str) -> Markup:
    return element(
        "tr",
        element("th", name, scope="row"),
        element("td", *track, class_="track", aria_hidden="true"),
        element("td", text, **text_look),
    )


def _table(rows: Iterable[Markup], look: str) -> Markup:
    return element("table", element("tbody", joined(rows)), class_=look)


def _climb(rows: Sequence[ClimbBar | ClimbLimit], unit: str = "gflops") -> Markup:
    rungs = [row for row in rows if isinstance(row, ClimbBar)]
    limits = [row for row in rows if isinstance(row, ClimbLimit)]
    most = max((row.rate for row in rows if row.rate is not None), default=1.0)
    places = [f"left: {100 * each.rate / most:.2f}%" for each in limits]
    lines = [element("span", class_="limit", style=place) for place in places]
    rows_of_rungs = []
    for row in rungs:
        look = classes("fill", "first" if row.leads else "")
        fill = element("span", class_=look, style=f"width: {100 * (row.rate or 0.0) / most:.2f}%")
        rate, _, verdict = row.text.partition(": ")
        outcome = joined([element("strong", rate), element("span", verdict, class_="muted")], " ")
        rows_of_rungs.append(_row(row.name, (fill, *lines), outcome, title=row.time))
    names = []
    for at, each in enumerate(limits):
        place = f"right: {100 * (1 - each.rate / most):.2f}%; top: {1.2 * at}em"
        names.append(element("span", each.text, style=place))
    over = element("td", *names, class_="limits", style=f"height: {1.2 * len(names) + 0.3}em")
    head = element("tr", element("td", UNIT_OF[unit], class_="muted"), over, element("td"))
    return _table([head, *rows_of_rungs], "bars climb")


def _waterfall(rows: Sequence[WaterfallStep]) -> Markup:
    most = max(max(row.start, row.end) for row in rows) or 1.0
    bars = []
    for row in rows:
        low, high = sorted((row.start / most, row.end / most))
        place = f"margin-left: {100 * low:.2f}%; width: {100 * (high - low):.2f}%"
        fill = element("span", class_=classes("fill", row.look), style=place)
        bars.append(_row(row.name, (fill,), row.text, class_="number"))
    return _table(bars, "bars waterfall")


_SIDES: Final = (Key("before", BEFORE), Key("after", ACCENT))
KINDS: Final = {
    "shares": ChartKind(_bars, readable=True),
    "occupancy": ChartKind(_bars, readable=True),
    "states": ChartKind(_states, readable=True, wide=True, legend=lambda _: _SIDES),
    "waterfall": ChartKind(_waterfall, readable=True, wide=True),
    "climb": ChartKind(_climb, readable=True, wide=True),
}
