"""Bars with names: parts of a whole, bytes on their way, kernels by time, the climb."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kernelprof.report.charts.parts import (
    ACCENT,
    BEFORE,
    BOTTOM,
    CALM,
    DASHED,
    INK,
    NAMES,
    ROW_HEIGHT,
    TOP,
    Key,
    Kind,
    Row,
    Rows,
    Spec,
    axis,
    layer,
    log_axis,
    look,
    spec,
    tidy,
    tooltip,
    written,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

STATUSES: Final = {
    "bottleneck": ("var(--bar-held)", "limited by a bottleneck"),
    "at-limit": ("var(--bar-limit)", "at its limit"),
    "inconclusive": ("var(--bar-open)", "inconclusive"),
    "others": ("var(--bar-rest)", "other kernels"),
}
TITLES: Final = {
    "warps": "Share of a warp's time",
    "pipes": "Utilization",
    "instructions": "Share of the instructions",
}
"""What the axis of shares says, by the option of the chart's name."""

FIELD_OF: Final = {"GFLOP/s": "gflops", "TFLOP/s": "tflops"}
"""The field of a rung's rate by its unit; all but the first are options of the chart's name."""

_BAR: Final[Spec] = {"type": "bar", "cornerRadiusEnd": 3}
_FIRST: Final[Spec] = {"condition": {"test": "datum.first", "value": ACCENT}, "value": CALM}
"""The bars that matter stand out."""

_PERCENT: Final = "format(100 * datum.value, 'd') + ' %'"
_SHARES: Final[Spec] = {
    "axis": {"labelExpr": _PERCENT, "values": [0, 0.25, 0.5, 0.75, 1]},
    "scale": {"domain": [0, 1.15]},
}
"""The axis of shares: all of the whole, and room for the number at the end of a full bar."""


@dataclass(frozen=True, slots=True)
class Share:
    """A part of a whole, 0 to 1, and what its name means."""

    name: str
    share: float
    tip: str = ""


@dataclass(frozen=True, slots=True)
class Level:
    """Bytes that passed one place on their way, as a ``multiple`` of the fewest possible.

    ``hit_rate`` is 0 to 1; ``tip`` says what is counted there.
    """

    name: str
    bytes: float
    text: str
    multiple: float | None = None
    hit_rate: float | None = None
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


def memory_rows(levels: Iterable[Level]) -> tuple[Row, ...]:
    """A bar a level, from a power of ten below all of them: the axis is logarithmic."""
    levels = [level for level in levels if level.bytes > 0]
    if not levels:
        return ()
    fewest = [level.bytes / level.multiple for level in levels if level.multiple]
    floor = 10.0 ** math.floor(math.log10(min([*fewest, *(each.bytes for each in levels)]) / 2))
    return tuple(
        {
            "name": level.name,
            "bytes": tidy(level.bytes),
            "floor": floor,
            "text": level.text,
            "multiple": None if level.multiple is None else tidy(level.multiple),
            "hits": level.hit_rate,
            "least": tidy(fewest[0]) if fewest else None,
        }
        for level in levels
    )


def _bars(x: Spec, colour: Spec, *more: Spec, **encoding: object) -> Spec:
    """A bar a name, with a text behind its end."""
    text = written("", {"align": "left", "dx": 4})
    return spec(
        height={"step": ROW_HEIGHT},
        encoding={"x": x, "y": NAMES, **encoding},
        layer=[layer("", _BAR, color=colour), text, *more],
    )


def _shares(what: str) -> Spec:
    tips = tooltip(("name", "Name"), ("text", TITLES[what]))
    return _bars(axis("share", TITLES[what], **_SHARES), _FIRST, tooltip=tips)


def _occupancy() -> Spec:
    ticks = {"tickMinStep": 1, "tickCount": 5, "format": "d"}
    return _bars(axis("blocks", "Blocks per SM", axis=ticks), _FIRST)


def _states() -> Spec:
    """Pairs of bars, above before, below after: a side is told by its place, too."""
    tips = tooltip(("name", "Reason"), ("side", "Side"), ("text", "Share"))
    offset = {"field": "side", "sort": ["Before", "After"]}
    sides = look("side", {"Before": BEFORE, "After": ACCENT})
    x = axis("share", TITLES["warps"], **_SHARES)
    found = _bars(x, sides, yOffset=offset, tooltip=tips)
    return {**found, "height": {"step": 16, "for": "offset"}}


def _overview() -> Spec:
    room = {"range": [0, {"expr": "width - 48"}]}
    x = axis("share", "Share of time", axis={"labelExpr": _PERCENT, "tickCount": 5}, scale=room)
    tips = tooltip(("name", "Kernel"), ("text", "Share of time"), ("verdict", "Verdict"))
    colours = look("status", {status: colour for status, (colour, _) in STATUSES.items()})
    return _bars(x, colours, tooltip=tips)


def _overview_legend(rows: Rows) -> Sequence[Key]:
    found = {row["status"] for row in rows}
    return [Key(words, colour) for status, (colour, words) in STATUSES.items() if status in found]


def _memory() -> Spec:
    x = axis("bytes", "Bytes, on a logarithmic axis", **log_axis("~s", "B"))
    fewest = layer(
        "isValid(datum.least)",
        {**DASHED, "color": INK},
        x={"field": "least", "type": "quantitative"},
        y=TOP,
        y2=BOTTOM,
    )
    found = _bars(x, {"value": ACCENT}, fewest)
    found["layer"][0]["encoding"]["x2"] = {"field": "floor"}
    return found


def _climb(field: str = "gflops") -> Spec:
    """A bar a rung, in order, with its rate and its verdict, below dashed lines for the limits."""
    rung, limit = "datum.what == 'rung'", "datum.what == 'limit'"
    (unit,) = (unit for unit, each in FIELD_OF.items() if each == field)
    x = axis(field, unit, scale={"nice": False, "range": [0, {"expr": "0.62 * width"}]})
    tips = tooltip(("name", "Rung"), ("text", "Rate and verdict"), ("time", "Time"))
    above = {"align": "right", "dy": {"expr": "-8 - 16 * datum.lift"}}
    return spec(
        height={"step": ROW_HEIGHT + 8},
        encoding={"x": x},
        layer=[
            layer(limit, DASHED, y=TOP, y2=BOTTOM),
            written(limit, above, y=TOP),
            layer(rung, _BAR, y=NAMES, color=_FIRST, tooltip=tips),
            written(rung, {"align": "left", "dx": 4}, y=NAMES),
        ],
    )


_SIDES: Final = (Key("before", BEFORE), Key("after", ACCENT))
KINDS: Final = {
    "shares": Kind(
        _shares,
        table=(("What", "name", "text"), ("Share", "share", "share"), ("Meaning", "tip", "tip")),
    ),
    "occupancy": Kind(
        _occupancy, table=(("Resource", "name", "text"), ("Blocks per SM", "blocks", "number"))
    ),
    "states": Kind(
        _states,
        table=(
            ("Reason", "name", "text"),
            ("Side", "side", "text"),
            ("Share", "share", "share"),
            ("Meaning", "tip", "tip"),
        ),
        wide=True,
        legend=lambda _: _SIDES,
    ),
    "overview": Kind(_overview, wide=True, legend=_overview_legend),
    "memory": Kind(
        _memory,
        table=(
            ("Where", "name", "text"),
            ("Bytes", "text", "text"),
            ("Of the minimum", "multiple", "times"),
            ("Hit rate", "hits", "share"),
        ),
        wide=True,
    ),
    "climb": Kind(_climb, wide=True),
}
