"""Times: kernels by their change, the launches of both sides, and medians over dates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kernelprof.report.charts.parts import (
    ACCENT,
    BEFORE,
    BOTTOM,
    DASHED,
    INK,
    MUTED,
    NAMES,
    POINT,
    SHAPES,
    TOP,
    Key,
    Kind,
    Rows,
    Spec,
    axis,
    layer,
    log_axis,
    looks,
    spec,
    tooltip,
    with_unit,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

OUTCOMES: Final = {
    "slower": ("var(--bar-held)", "triangle-up"),
    "faster": ("var(--bar-limit)", "triangle-down"),
    "undecided": ("var(--bar-open)", "diamond"),
    "same": ("var(--bar-rest)", "circle"),
    "unknown": ("var(--bar-rest)", "cross"),
}
_WORDS: Final = {"same": "within the noise", "unknown": "not known"}
_FACTORS: Final = (
    "datum.value == 1 ? 'as before' : datum.value < 1 ? "
    "format(1 / datum.value, '.3~g') + 'x faster' : format(datum.value, '.3~g') + 'x slower'"
)


def _changes() -> Spec:
    """A mark a kernel at its change, with its interval as a line; the middle is as before."""
    ticks = {"labelExpr": _FACTORS, "labelOverlap": "greedy", "tickCount": 5}
    x = axis("ratio", None, scale={"type": "log", "nice": False, "padding": 12}, axis=ticks)
    middle = {"datum": 1, **{key: part for key, part in x.items() if key != "field"}}
    look = looks("outcome", OUTCOMES)
    tips = tooltip(("name", "Kernel"), ("text", "Change"), ("ratio", "After over before"))
    return spec(
        height={"step": 26},
        encoding={"y": NAMES},
        layer=[
            layer("", DASHED, x=middle, y=TOP, y2=BOTTOM),
            layer(
                "",
                {"type": "rule", "strokeWidth": 3},
                x={**x, "field": "low"},
                x2={"field": "high"},
                color=look["color"],
            ),
            layer("", POINT, x=x, tooltip=tips, **look),
        ],
    )


def _changes_legend(rows: Rows) -> Sequence[Key]:
    found = {row["outcome"] for row in rows}
    return [Key(_WORDS.get(each, each), *OUTCOMES[each]) for each in OUTCOMES if each in found]


def _launches(scale: str = "") -> Spec:
    """Launches as dots in their order from top to bottom, with the median across them.

    A side is told by its place and its name; colours only repeat that.
    """
    near = scale == "near"
    x = axis(
        "x",
        "Time of a launch" + ("; the axis does not begin at zero" if near else ""),
        scale={"zero": not near, "padding": 12},
        axis={"labelExpr": with_unit(".6~s", "s"), "tickCount": 5, "titleAnchor": "start"},
    )
    side = {**NAMES, "field": "side"}
    colour = {"condition": {"test": "datum.side == 'After'", "value": ACCENT}, "value": BEFORE}
    median = "datum.what == 'median'"
    form = ".6~s"
    interval = tooltip(
        ("side", "Side"),
        ("x", "Median (s)", form),
        ("low", "95 % from (s)", form),
        ("high", "to (s)", form),
    )
    return spec(
        height=168,
        layer=[
            layer(
                "datum.what == 'noise'",
                {"type": "rect", "color": MUTED, "opacity": 0.14},
                x=x,
                x2={"field": "x2"},
                y=TOP,
                y2=BOTTOM,
            ),
            layer(
                "datum.what == 'launch'",
                {"type": "point", "filled": True, "size": 34, "opacity": 0.6},
                x=x,
                y=side,
                yOffset={"field": "order", "type": "quantitative"},
                color=colour,
                tooltip=tooltip(("side", "Side"), ("order", "Launch"), ("x", "Time (s)", form)),
            ),
            layer(
                median,
                {"type": "rule", "strokeWidth": 7, "strokeCap": "butt", "opacity": 0.5},
                x={**x, "field": "low"},
                x2={"field": "high"},
                y=side,
                color=colour,
                tooltip=interval,
            ),
            layer(
                median,
                {"type": "tick", "orient": "vertical", "size": 64, "thickness": 2, "color": INK},
                x=x,
                y=side,
                tooltip=interval,
            ),
        ],
    )


_MINUTE_MS: Final = 60_000
_DAY_MS: Final = 24 * 60 * _MINUTE_MS
_SPAN: Final = "domain('x')[1] - domain('x')[0]"
_DATE: Final = (
    f"utcFormat(datum.value, {_SPAN} < {10 * _MINUTE_MS} ? '%H:%M:%S' : {_SPAN} < {_DAY_MS} "
    f"? '%H:%M' : {_SPAN} < {5 * _DAY_MS} ? '%m-%d %H:%M' : '%Y-%m-%d')"
)
"""Dates as they stand in the table, with as much of the time as their span asks for."""

_POINT_TIPS: Final = tooltip(
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
_COLOURS: Final = ("--point-dram", "--point-l2", "--point-l1", "--accent", "--failed")
_SHAPES: Final = tuple(shape for shape in SHAPES if shape != "cross")


def verdict_looks(verdicts: Iterable[str], inconclusive: str) -> dict[str, Key]:
    """Colour and shape of each verdict of a page, no two of the first thirty alike."""
    found = {inconclusive: Key(inconclusive, "var(--muted)", "cross")}
    for at, verdict in enumerate(dict.fromkeys(each for each in verdicts if each != inconclusive)):
        colour, shape = _COLOURS[at % len(_COLOURS)], _SHAPES[at % len(_SHAPES)]
        found[verdict] = Key(verdict, f"var({colour})", shape)
    return found


def _history(scale: str = "") -> Spec:
    """A kernel's medians over dates: verdicts by colour and shape, dashed lines at their changes.

    A linear axis begins at zero: noise has to look like noise.
    """
    x: Spec = {
        "field": "date",
        "type": "temporal",
        "title": "Date (UTC)",
        "scale": {"type": "utc", "padding": 16},
        "axis": {
            "grid": False,
            "tickCount": {"expr": "ceil(width / 120)"},
            "labelExpr": _DATE,
            "labelOverlap": "greedy",
        },
    }
    seconds = {"labelExpr": with_unit(".6~s", "s"), "tickCount": 5}
    form = log_axis(".6~s", "s") if scale == "log" else {"scale": {"zero": True}, "axis": seconds}
    y = axis("time", "Time", **form)
    as_they_are = {"type": "nominal", "scale": None}
    return spec(
        height=220,
        encoding={"x": x},
        layer=[
            layer("datum.changed", DASHED, tooltip=_POINT_TIPS[:2] + _POINT_TIPS[5:6]),
            layer(
                "",
                {"type": "line", "color": MUTED, "strokeWidth": 1.5, "opacity": 0.6},
                y=y,
                detail={"field": "gpu"},
            ),
            layer(
                "datum.high > datum.low",
                {"type": "rule", "color": INK, "strokeWidth": 1.5, "opacity": 0.6},
                y={**y, "field": "low"},
                y2={"field": "high"},
            ),
            layer(
                "",
                POINT,
                y=y,
                color={"field": "colour", **as_they_are},
                shape={"field": "shape", **as_they_are},
                tooltip=_POINT_TIPS,
            ),
        ],
    )


def _history_legend(rows: Rows) -> Sequence[Key]:
    keys = [Key(str(row["verdict"]), str(row["colour"]), str(row["shape"])) for row in rows]
    return list(dict.fromkeys(keys))


KINDS: Final = {
    "changes": Kind(_changes, wide=True, legend=_changes_legend),
    "launches": Kind(_launches, wide=True),
    "history": Kind(_history, wide=True, legend=_history_legend),
}
