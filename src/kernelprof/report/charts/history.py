"""A kernel's time over dates: its verdicts as colour and shape, and lines where they changed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Final

from kernelprof.report.charts.parts import (
    INK,
    MUTED,
    POINT,
    SHAPES,
    Key,
    Kind,
    Row,
    Rows,
    Spec,
    axis,
    layer,
    log_axis,
    over,
    spec,
    tidy,
    time_unit,
    tooltip,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

HEIGHT: Final = 220
LOG_FROM: Final = 8.0
"""How many times the shortest time the longest has to be for a logarithmic scale."""

LEAST_SPAN: Final = 0.2
"""The least height of a linear scale, as a part of the time: noise has to look like noise."""

ZERO_BELOW: Final = 0.35
"""A linear scale begins at zero where the shortest time is below this part of the longest."""

MOST_LABELS: Final = 3
"""Changes of a verdict that are named in the chart; of more only the lines are drawn."""

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

_TOOLTIP: Final = tooltip(
    ("when", "When (UTC)"),
    ("from", "From"),
    ("text", "Time"),
    ("interval", "90 % of the launches"),
    ("change", "Change"),
    ("verdict", "Verdict"),
    ("confidence", "Confidence"),
    ("counters", "Changed counters"),
    ("gpu", "GPU"),
    ("remarks", "Remarks"),
)
_LANE: Final = 16
_COLOURS: Final = ("--point-dram", "--point-l2", "--point-l1", "--accent", "--failed")
_SHAPES: Final = tuple(shape for shape in SHAPES if shape != "cross")


@dataclass(frozen=True, slots=True)
class Measurement:
    """A kernel at a date (ISO 8601), with the ends of an interval of its times, in nanoseconds.

    ``changed`` is set where the verdict is another one than before; the other texts are shown for
    the point.
    """

    date: str
    verdict: str
    time_ns: float | None
    low_ns: float | None = None
    high_ns: float | None = None
    changed: bool = False
    gpu: str = ""
    when: str = ""
    origin: str = ""
    time: str = ""
    interval: str = ""
    change: str = ""
    confidence: str = ""
    counters: str = ""
    remarks: str = ""


def looks(verdicts: Iterable[str], inconclusive: str) -> dict[str, Key]:
    """Colour and shape of each verdict of a page, no two of the first thirty alike."""
    found: dict[str, Key] = {}
    for verdict in dict.fromkeys(verdicts):
        at = len(found.keys() - {inconclusive})
        colour, shape = _COLOURS[at % len(_COLOURS)], _SHAPES[at % len(_SHAPES)]
        if verdict == inconclusive:
            colour, shape = "--muted", "cross"
        found[verdict] = Key(verdict, f"var({colour})", shape)
    return found


def kind(kernel: Sequence[Measurement]) -> str:
    """The kind that fits the times: by their unit, and whether it is logarithmic; or nothing."""
    times = _times(kernel)
    if not times:
        return ""
    _, unit = time_unit(max(times))
    is_log = min(times) > 0 and max(times) / min(times) > LOG_FROM
    return f"history:{unit.replace('µ', 'u')}{':log' if is_log else ''}"


def rows(kernel: Sequence[Measurement], looks: Mapping[str, Key]) -> tuple[Row, ...]:
    """A row a measurement that has a time, and two for the ends of the scales."""
    times = _times(kernel)
    if not times:
        return ()
    size, _ = time_unit(max(times))
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
        row = _point(each, looks[each.verdict], size)
        if each.changed and named:
            right = _milliseconds(each.date) < (min(dates) + max(dates)) / 2
            row |= {"lane": lane, "right": right}
            lane += 1
        found.append(row)
    return tuple(found)


def _point(each: Measurement, look: Key, size: float) -> Row:
    time = each.time_ns or 0.0
    return {
        "what": "point",
        "date": _milliseconds(each.date),
        "time": tidy(time / size),
        "low": tidy((each.low_ns or time) / size),
        "high": tidy((each.high_ns or time) / size),
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


def _legend(rows: Rows) -> Sequence[Key]:
    points = [row for row in rows if row["what"] == "point"]
    keys = [Key(str(row["verdict"]), str(row["colour"]), str(row["shape"])) for row in points]
    return list(dict.fromkeys(keys))


def chart(unit: str, scale: str = "") -> Spec:
    """The specification of a :func:`kind`."""
    unit, is_log = unit.replace("u", "µ"), scale == "log"
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
    y = axis(
        "time",
        f"Time ({unit})",
        scale={"type": "log" if is_log else "linear", "zero": False, "nice": False},
        axis=log_axis("~r")["axis"] if is_log else {"tickCount": 5, "format": "~r"},
    )
    return spec(
        height=HEIGHT,
        layer=[
            layer("datum.what == 'corner'", {"type": "point", "opacity": 0, "size": 0}, x=x, y=y),
            layer(
                "datum.what == 'point' && datum.changed",
                {"type": "rule", "strokeDash": [3, 4], "color": MUTED},
                x=x,
                tooltip=_TOOLTIP[:2] + _TOOLTIP[5:6],
            ),
            *_names(x),
            layer(
                "datum.what == 'point'",
                {"type": "line", "color": MUTED, "strokeWidth": 1.5, "opacity": 0.6},
                x=x,
                y=y,
                detail={"field": "gpu"},
            ),
            layer(
                "datum.what == 'point' && datum.high > datum.low",
                {"type": "rule", "color": INK, "strokeWidth": 1.5, "opacity": 0.6},
                x=x,
                y={**y, "field": "low"},
                y2={"field": "high"},
            ),
            layer(
                "datum.what == 'point'",
                POINT,
                x=x,
                y=y,
                color={"field": "colour", "type": "nominal", "scale": None},
                shape={"field": "shape", "type": "nominal", "scale": None},
                tooltip=_TOOLTIP,
            ),
        ],
    )


def _names(x: Spec) -> list[Spec]:
    """What the verdict changed to, above the plot, each on a height of its own."""
    found = []
    for lane in range(MOST_LABELS):
        for test, align, dx in (("datum.right", "left", -2), ("!datum.right", "right", 2)):
            mark = {"type": "text", "align": align, "dx": dx, "dy": -8 - _LANE * lane}
            on_lane = f"datum.lane === {lane} && {test}"
            found += over(on_lane, mark, x=x, y={"value": 0}, text={"field": "verdict"})
    return found


def _times(kernel: Sequence[Measurement]) -> list[float]:
    """Medians and the ends of their intervals."""
    return [
        time
        for each in kernel
        if each.time_ns is not None
        for time in (each.time_ns, each.low_ns, each.high_ns)
        if time is not None
    ]


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


KIND: Final = Kind(chart, wide=True, legend=_legend)
