"""Times: kernels by their change, the launches of both sides, and medians over dates."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final

from kernelprof.report.charts import axes, drawing
from kernelprof.report.charts.parts import SHAPES, ChartKind, Key, Row, Rows, real

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from markupsafe import Markup

OUTCOMES: Final = {
    "slower": ("var(--bar-held)", "triangle-up"),
    "faster": ("var(--bar-limit)", "triangle-down"),
    "undecided": ("var(--bar-open)", "diamond"),
    "same": ("var(--bar-rest)", "circle"),
    "unknown": ("var(--bar-rest)", "cross"),
}
_WORDS: Final = {"same": "within the noise", "unknown": "not known"}
HEIGHT: Final = 200
ROW: Final = 28
_SIDE: Final = 78
_LARGEST: Final = 1e9


def _changes(rows: Rows) -> Markup:
    ends = [_drawn(row, field) for row in rows for field in ("low", "ratio", "high")]
    scale = axes.around([*ends, 1.0], log=True)
    x = axes.Axis(scale, _factors(scale), _factor)
    height = ROW * len(rows)
    marks = [drawing.line(x.at(1.0), 0, x.at(1.0), height, "dashed")]
    for number, row in enumerate(rows):
        y = ROW * (number + 0.5)
        colour, shape = OUTCOMES[str(row["outcome"])]
        low, high = x.at(_drawn(row, "low")), x.at(_drawn(row, "high"))
        title = f"{row['name']}: {row['text']}"
        marks.append(drawing.line(low, y, high, y, "spread", style=f"stroke: {colour}"))
        marks.append(drawing.symbol(x.at(_drawn(row, "ratio")), y, shape, colour, title=title))
    return drawing.plot(height, marks, x=x, names=[str(row["name"]) for row in rows])


def _drawn(row: Row, field: str) -> float:
    """A factor, or the largest that is drawn: times of next to nothing make any number."""
    return min(max(real(row, field), 1.0 / _LARGEST), _LARGEST)


def _factors(scale: axes.AxisScale) -> list[float]:
    span = scale.high / scale.low
    if span > 4.0:
        powers = axes.AxisScale(1.0, max(scale.high, 1.0 / scale.low) * 1.001, log=True).ticks(4)
        factors = sorted({*powers, *(1.0 / each for each in powers)})
    else:
        step = axes.step_for(scale.high - scale.low, 5)
        factors = [1.0 + step * number for number in range(-10, 11)]
    return [each for each in factors if scale.low <= each <= scale.high]


def _factor(value: float) -> str:
    if abs(value - 1.0) < 1e-9:
        return "as before"
    return f"{1 / value:.3g}x faster" if value < 1 else f"{value:.3g}x slower"


def _changes_legend(rows: Rows) -> Sequence[Key]:
    outcomes = {row["outcome"] for row in rows}
    return [Key(_WORDS.get(each, each), *OUTCOMES[each]) for each in OUTCOMES if each in outcomes]


def _launches(rows: Rows, scale: str = "") -> Markup:
    """Launches as dots in their order from top to bottom, with the median across them.

    A side is told by its place and its name; colours only repeat that.
    """
    near = scale == "near"
    fields = {"launch": ("x",), "median": ("x", "low", "high"), "noise": ("x", "x2")}
    values = [real(row, field) for row in rows for field in fields[str(row["what"])]]
    axis_scale = axes.around(values, zero=not near)
    title = "Time of a launch" + ("; the axis does not begin at zero" if near else "")
    x = axes.Axis(axis_scale, axis_scale.ticks(5), lambda value: axes.prefixed(value, "s"), title)
    sides = list(dict.fromkeys(str(row["side"]) for row in rows if "side" in row))
    height = _SIDE * len(sides)
    marks = [
        drawing.box(
            x.at(real(row, "x")), 0, x.at(real(row, "x2")) - x.at(real(row, "x")), height, "noise"
        )
        for row in rows
        if row["what"] == "noise"
    ]
    for at, side in enumerate(sides):
        own = [row for row in rows if row.get("side") == side]
        marks += _side(own, x, at * _SIDE, "after" if side == "After" else "before")
    return drawing.plot(height, marks, x=x, names=sides)


def _side(rows: Rows, x: axes.Axis, top: float, look: str) -> Iterable[Markup]:
    launches = [row for row in rows if row["what"] == "launch"]
    last = max((real(row, "order") for row in launches), default=1.0)
    for row in launches:
        y = top + 8 + (_SIDE - 16) * (real(row, "order") - 0.5) / last
        title = f"{row['side']}, launch {row['order']}: {axes.prefixed(real(row, 'x'), 's')}"
        yield drawing.dot(x.at(real(row, "x")), y, 3, f"launch {look}", title)
    for row in rows:
        if row["what"] == "median":
            low, middle, high = (real(row, field) for field in ("low", "x", "high"))
            title = (
                f"{row['side']}: median {axes.prefixed(middle, 's')}, 95 % from "
                f"{axes.prefixed(low, 's')} to {axes.prefixed(high, 's')}"
            )
            y = top + _SIDE / 2
            yield drawing.line(x.at(low), y, x.at(high), y, f"interval {look}", title=title)
            yield drawing.line(
                x.at(middle), top + 5, x.at(middle), top + _SIDE - 5, "median", title=title
            )


_TITLES: Final = (
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
"""What is told of a point of a history."""

_CHANGED: Final = ("▲", "▼")
_COLOURS: Final = ("--point-dram", "--point-l2", "--point-l1", "--accent", "--failed")
_SHAPES: Final = tuple(shape for shape in SHAPES if shape != "cross")


def verdict_looks(verdicts: Iterable[str], inconclusive: str) -> dict[str, Key]:
    """Colour and shape of each verdict of a page, no two of the first thirty alike."""
    keys = {inconclusive: Key(inconclusive, "var(--muted)", "cross")}
    for at, verdict in enumerate(dict.fromkeys(each for each in verdicts if each != inconclusive)):
        colour, shape = _COLOURS[at % len(_COLOURS)], _SHAPES[at % len(_SHAPES)]
        keys[verdict] = Key(verdict, f"var({colour})", shape)
    return keys


def _history(rows: Rows, scale: str = "") -> Markup:
    """A kernel's medians over dates: verdicts by colour and shape, dashed lines at their changes.
    A time that changed says by how much.

    A linear axis begins at zero: noise has to look like noise.
    """
    x = axes.dates(*(end(real(row, "date") for row in rows) for end in (min, max)))
    times = [real(row, field) for row in rows for field in ("low", "time", "high")]
    time_scale = axes.around(times, zero=scale != "log", log=scale == "log")
    if not time_scale.log:  # room for what is written above the points
        time_scale = axes.AxisScale(time_scale.low, 1.1 * time_scale.high)
    y = axes.Axis(time_scale, time_scale.ticks(8), lambda value: axes.prefixed(value, "s"), "Time")
    places = [(x.at(real(row, "date")), (1 - y.at(real(row, "time"))) * HEIGHT) for row in rows]
    marks = [
        drawing.line(at, 0, at, HEIGHT, "dashed", title=_point_title(row))
        for row, (at, _) in zip(rows, places, strict=True)
        if row["changed"]
    ]
    for gpu in dict.fromkeys(str(row["gpu"]) for row in rows):
        own = [place for row, place in zip(rows, places, strict=True) if row["gpu"] == gpu]
        marks += [drawing.line(*start, *end, "way") for start, end in pairwise(own)]
    for row, (at, height) in zip(rows, places, strict=True):
        low, high = ((1 - y.at(real(row, end))) * HEIGHT for end in ("low", "high"))
        if real(row, "high") > real(row, "low"):
            marks.append(drawing.line(at, low, at, high, "whisker"))
        marks.append(
            drawing.symbol(
                at, height, str(row["shape"]), str(row["colour"]), title=_point_title(row)
            )
        )
        if str(row["change"]).startswith(_CHANGED):
            top = max(height - 14, 10.0)
            words = str(row["change"])
            marks.append(drawing.text(at, top, words, "change", anchor=drawing.inward(at)))
    return drawing.plot(HEIGHT, marks, x=x, y=y)


def _point_title(row: Row) -> str:
    return "\n".join(f"{title}: {row[field]}" for field, title in _TITLES)


def _history_legend(rows: Rows) -> Sequence[Key]:
    keys = [Key(str(row["verdict"]), str(row["colour"]), str(row["shape"])) for row in rows]
    return list(dict.fromkeys(keys))


KINDS: Final = {
    "changes": ChartKind(_changes, wide=True, legend=_changes_legend),
    "launches": ChartKind(_launches, wide=True),
    "history": ChartKind(_history, wide=True, legend=_history_legend),
}
