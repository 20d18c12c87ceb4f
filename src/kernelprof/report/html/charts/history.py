"""A kernel's time over dates: its verdicts as colour and shape, and lines where they changed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from kernelprof.report.html.charts.parts import (
    INK,
    MUTED,
    Row,
    Spec,
    log_axis,
    over,
    spec,
    tidy,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kernelprof.report.html.history import RowView

HEIGHT: Final = 220
LOG_FROM: Final = 8.0
"""How many times the shortest time the longest has to be for a logarithmic scale."""

LEAST_SPAN: Final = 0.2
"""The least height of a linear scale, as a part of the time: noise has to look like noise."""

ZERO_BELOW: Final = 0.35
"""A linear scale begins at zero where the shortest time is below this part of the longest."""

MOST_LABELS: Final = 3
"""Changes of a verdict that are named in the chart; of more only the lines are drawn."""

_UNITS: Final = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns"))
_MARGIN: Final = 0.05
_ALONE_MS: Final = 12 * 3_600_000
"""Milliseconds to both sides of a single date."""

_MINUTE_MS: Final = 60_000
_DAY_MS: Final = 24 * 60 * _MINUTE_MS
_SPAN: Final = "domain('x')[1] - domain('x')[0]"
_DATE: Final = (
    f"utcFormat(datum.value, {_SPAN} < {10 * _MINUTE_MS} ? '%H:%M:%S' : {_SPAN} < {_DAY_MS} "
    f"? '%H:%M' : {_SPAN} < {5 * _DAY_MS} ? '%m-%d %H:%M' : '%Y-%m-%d')"
)
"""Dates as they stand in the table, with as much of the time as their span asks for."""

_LANE: Final = 16
_COLOURS: Final = ("--point-dram", "--point-l2", "--point-l1", "--accent", "--failed")
_SHAPES: Final = {
    "circle": "M8 2A6 6 0 1 1 8 14A6 6 0 1 1 8 2Z",
    "square": "M3 3H13V13H3Z",
    "triangle-up": "M8 2L14.5 13H1.5Z",
    "diamond": "M8 1L14 8L8 15L2 8Z",
    "triangle-down": "M8 14L1.5 3H14.5Z",
    "triangle-left": "M2 8L13 1.5V14.5Z",
}
_OPEN: Final = ("--muted", "cross", "M6 2H10V6H14V10H10V14H6V10H2V6H6Z")


@dataclass(frozen=True, slots=True)
class Symbol:
    """What a verdict looks like: a colour of the theme, a shape, and that shape in 16 by 16."""

    verdict: str
    colour: str
    shape: str
    path: str


def symbols(verdicts: Sequence[str], inconclusive: str) -> dict[str, Symbol]:
    """A symbol for each verdict of a page, no two of the first thirty alike."""
    found: dict[str, Symbol] = {}
    for verdict in dict.fromkeys(verdicts):
        if verdict == inconclusive:
            colour, shape, path = _OPEN
        else:
            at = len(found.keys() - {inconclusive})
            colour = _COLOURS[at % len(_COLOURS)]
            shape, path = list(_SHAPES.items())[at % len(_SHAPES)]
        found[verdict] = Symbol(verdict, f"var({colour})", shape, path)
    return found


def kind(rows: Sequence[RowView]) -> str:
    """The name of the chart that fits the times: by their unit, and whether it is logarithmic."""
    times = _times(rows)
    if not times:
        return ""
    _, unit = _unit(max(times))
    is_log = min(times) > 0 and max(times) / min(times) > LOG_FROM
    return f"history-{unit.replace('µ', 'u')}{'-log' if is_log else ''}"


def rows(kernel: Sequence[RowView], looks: Mapping[str, Symbol]) -> list[Row]:
    """A row a measurement that has a time, and two for the ends of the scales."""
    times = _times(kernel)
    if not times:
        return []
    size, _ = _unit(max(times))
    low, high = _ends(min(times), max(times))
    dates = [_milliseconds(each.date) for each in kernel if each.time_ns is not None]
    room = _MARGIN * (dates[-1] - dates[0]) or _ALONE_MS
    found: list[Row] = [
        {"what": "corner", "date": date, "time": tidy(time / size)}
        for date, time in ((min(dates) - room, low), (max(dates) + room, high))
    ]
    named = sum(each.changed for each in kernel) <= MOST_LABELS
    lane = 0
    for each in kernel:
        if each.time_ns is None:
            continue
        look = looks[each.verdict]
        date = _milliseconds(each.date)
        row: Row = {
            "what": "point",
            "date": date,
            "time": tidy(each.time_ns / size),
            "low": tidy((each.low_ns or each.time_ns) / size),
            "high": tidy((each.high_ns or each.time_ns) / size),
            "gpu": each.gpu,
            "colour": look.colour,
            "shape": look.shape,
            "changed": each.changed,
            "when": each.when,
            "from": each.origin,
            "text": each.time,
            "interval": each.interval or "-",
            "change": each.change or "-",
            "verdict": each.verdict,
            "confidence": each.confidence,
            "counters": each.counters or "0",
            "remarks": each.remarks or "-",
        }
        if each.changed and named:
            row |= {"lane": lane, "right": date < (min(dates) + max(dates)) / 2}
            lane += 1
        found.append(row)
    return found


def chart(name: str, *, origin: str) -> Spec:
    """The specification of a :func:`kind`; ``origin`` is what a measurement comes from."""
    unit = name.split("-")[1].replace("u", "µ")
    is_log = name.endswith("-log")
    x: Spec = {
        "field": "date",
        "type": "temporal",
        "title": "Date (UTC)",
        "scale": {"type": "utc", "nice": False},
        "axis": {
            "grid": False,
            "tickCount": {"expr": "ceil(width / 120)"},
            "labelExpr": _DATE,
            "labelOverlap": "greedy",
        },
    }
    y: Spec = {
        "field": "time",
        "type": "quantitative",
        "title": f"Time ({unit})",
        "scale": {"type": "log" if is_log else "linear", "zero": False, "nice": False},
        "axis": log_axis("~r") if is_log else {"tickCount": 5, "format": "~r"},
    }
    tooltip = [
        {"field": field, "title": title}
        for field, title in (
            ("when", "When (UTC)"),
            ("from", origin),
            ("text", "Time"),
            ("interval", "90 % of the launches"),
            ("change", "Change"),
            ("verdict", "Verdict"),
            ("confidence", "Confidence"),
            ("counters", "Changed counters"),
            ("gpu", "GPU"),
            ("remarks", "Remarks"),
        )
    ]
    return spec(
        height=HEIGHT,
        layer=[
            _layer("datum.what == 'corner'", {"type": "point", "opacity": 0, "size": 0}, x=x, y=y),
            _layer(
                "datum.what == 'point' && datum.changed",
                {"type": "rule", "strokeDash": [3, 4], "color": MUTED},
                x=x,
                tooltip=tooltip[:2] + tooltip[5:6],
            ),
            *_names(x),
            _layer(
                "datum.what == 'point'",
                {"type": "line", "color": MUTED, "strokeWidth": 1.5, "opacity": 0.6},
                x=x,
                y=y,
                detail={"field": "gpu"},
            ),
            _layer(
                "datum.what == 'point' && datum.high > datum.low",
                {"type": "rule", "color": INK, "strokeWidth": 1.5, "opacity": 0.6},
                x=x,
                y={**y, "field": "low"},
                y2={"field": "high"},
            ),
            _layer(
                "datum.what == 'point'",
                {"type": "point", "filled": True, "size": 110, "opacity": 1},
                x=x,
                y=y,
                color={"field": "colour", "type": "nominal", "scale": None},
                shape={"field": "shape", "type": "nominal", "scale": None},
                tooltip=tooltip,
            ),
        ],
    )


def _names(x: Spec) -> list[Spec]:
    """What the verdict changed to, above the plot, each on a height of its own."""
    found = []
    for lane in range(MOST_LABELS):
        for test, align, dx in (("datum.right", "left", -2), ("!datum.right", "right", 2)):
            mark = {"type": "text", "align": align, "dx": dx, "dy": -8 - _LANE * lane}
            found += [
                {"transform": [{"filter": f"datum.lane === {lane} && {test}"}], **each}
                for each in over(mark, x=x, y={"value": 0}, text={"field": "verdict"})
            ]
    return found


def _layer(test: str, mark: Spec, **encoding: Any) -> Spec:
    return {"transform": [{"filter": test}], "mark": mark, "encoding": encoding}


def _times(kernel: Sequence[RowView]) -> list[float]:
    """Medians and the ends of their intervals."""
    return [
        time
        for each in kernel
        if each.time_ns is not None
        for time in (each.time_ns, each.low_ns, each.high_ns)
        if time is not None
    ]


def _unit(longest: float) -> tuple[float, str]:
    return next((each for each in _UNITS if longest >= each[0]), _UNITS[-1])


def _ends(low: float, high: float) -> tuple[float, float]:
    """Where the scale begins and ends."""
    if low > 0 and high / low > LOG_FROM:
        return low / 1.2, high * 1.2
    if low < ZERO_BELOW * high:
        return 0.0, high * (1 + _MARGIN)
    middle, half = (low + high) / 2, max((high - low) / 2, LEAST_SPAN * (low + high) / 4)
    return middle - (1 + _MARGIN) * half, middle + (1 + _MARGIN) * half


def _milliseconds(date: str) -> float:
    return 1000 * datetime.fromisoformat(date).timestamp()
