"""Bars with names: parts of a whole, blocks that fit, states before and after, the climb."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from kernelprof.report.charts.parts import ACCENT, BEFORE, ChartKind, Key, Row, Rows, real, tidy
from kernelprof.report.markup import classes, element, environment, joined

if TYPE_CHECKING:
    from collections.abc import Iterable

    from markupsafe import Markup

TITLES: Final = {
    "warps": "Share of a warp's time",
    "pipes": "Utilization",
    "instructions": "Share of the instructions",
}
"""What is shared out, by the option of the chart's name."""

FIELD_OF: Final = {"GFLOP/s": "gflops", "TFLOP/s": "tflops"}
"""The field of a rung's rate by its unit; all but the first are options of the chart's name."""


@dataclass(frozen=True, slots=True)
class Share:
    """A part of a whole, 0 to 1, and what its name means."""

    name: str
    share: float
    tip: str = ""


def share_rows(shares: Iterable[Share]) -> tuple[Row, ...]:
    """A bar each; the first stands out."""
    return tuple(
        {**share_row(each.name, each.share), "first": position == 0, "tip": each.tip}
        for position, each in enumerate(shares)
        if each.share > 0
    )


def share_row(name: str, share: float) -> Row:
    """A part of a whole with its number."""
    return {"name": name, "share": tidy(share), "text": f"{100 * share:.1f} %"}


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


def _bars(rows: Iterable[BarRow], look: str = "bars") -> Markup:
    table: Markup = environment().get_template("bars.html").module.bars(rows, look)  # type: ignore[attr-defined]
    return table


def _shares(rows: Rows, _: str) -> Markup:
    return _bars(
        BarRow(
            str(row["name"]),
            real(row, "share"),
            str(row["text"]),
            "fill first" if row["first"] else "fill",
            str(row["tip"]),
        )
        for row in rows
    )


def _occupancy(rows: Rows) -> Markup:
    most = max((real(row, "blocks") for row in rows), default=0.0) or 1.0
    return _bars(
        BarRow(
            str(row["name"]),
            real(row, "blocks") / most,
            str(row["text"]),
            "fill first" if row["first"] else "fill",
        )
        for row in rows
    )


def _states(rows: Rows) -> Markup:
    return _bars(
        [
            BarRow(
                str(row["name"]),
                real(row, "share"),
                str(row["text"]),
                "fill first" if row["side"] == "After" else "fill before",
                str(row["tip"]),
                "after" if row["side"] == "After" else "before",
            )
            for row in rows
        ],
        "bars pairs",
    )


def _table(rows: Iterable[Markup], look: str) -> Markup:
    return element("table", element("tbody", joined(rows)), class_=look)


def _climb(rows: Rows, field: str = "gflops") -> Markup:
    (unit,) = (unit for unit, each in FIELD_OF.items() if each == field)
    rungs = [row for row in rows if row["what"] == "rung"]
    limits = [(str(row["text"]), real(row, field)) for row in rows if row["what"] == "limit"]
    rates = [real(row, field) for row in rungs if row[field] is not None]
    most = max([*rates, *(rate for _, rate in limits)], default=1.0)
    lines = [
        element("span", class_="limit", style=f"left: {100 * rate / most:.2f}%")
        for _, rate in limits
    ]
    rows_of_rungs = []
    for row in rungs:
        part = 0.0 if row[field] is None else real(row, field) / most
        look = classes("fill", "first" if row["first"] else "")
        fill = element("span", class_=look, style=f"width: {100 * part:.2f}%")
        rate, _, verdict = str(row["text"]).partition(": ")
        outcome = joined([element("strong", rate), element("span", verdict, class_="muted")], " ")
        rows_of_rungs.append(
            element(
                "tr",
                element("th", str(row["name"]), scope="row"),
                element("td", fill, *lines, class_="track", aria_hidden="true"),
                element("td", outcome, title=f"{row['time']}"),
            )
        )
    names = [
        element("span", words, style=f"right: {100 * (1 - rate / most):.2f}%; top: {1.2 * at}em")
        for at, (words, rate) in enumerate(limits)
    ]
    over = element("td", *names, class_="limits", style=f"height: {1.2 * len(names) + 0.3}em")
    head = element("tr", element("td", unit, class_="muted"), over, element("td"))
    return _table([head, *rows_of_rungs], "bars climb")


def _waterfall(rows: Rows) -> Markup:
    most = max(max(real(row, "start"), real(row, "end")) for row in rows) or 1.0
    bars = []
    for row in rows:
        low, high = sorted((real(row, "start") / most, real(row, "end") / most))
        place = f"margin-left: {100 * low:.2f}%; width: {100 * (high - low):.2f}%"
        fill = element("span", class_=classes("fill", str(row["look"])), style=place)
        bars.append(
            element(
                "tr",
                element("th", str(row["name"]), scope="row"),
                element("td", fill, class_="track", aria_hidden="true"),
                element("td", str(row["text"]), class_="number"),
            )
        )
    return _table(bars, "bars waterfall")


_SIDES: Final = (Key("before", BEFORE), Key("after", ACCENT))
KINDS: Final = {
    "shares": ChartKind(_shares, readable=True),
    "occupancy": ChartKind(_occupancy, readable=True),
    "states": ChartKind(_states, readable=True, wide=True, legend=lambda _: _SIDES),
    "waterfall": ChartKind(_waterfall, readable=True, wide=True),
    "climb": ChartKind(_climb, readable=True, wide=True),
}
