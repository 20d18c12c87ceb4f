"""Times: kernels by their change, the launches of both sides, and medians over dates."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

from kernelprof.report.charts import axes, drawing
from kernelprof.report.charts.drawing import SHAPES, ChartKind, Key

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


class TimeMark(NamedTuple):
    """A kernel's time after over that before, with its interval and one of :data:`OUTCOMES`."""

    name: str
    ratio: float
    low: float
    high: float
    outcome: str
    text: str


def _changes(rows: Sequence[TimeMark]) -> Markup:
    ends = [_limited(value) for row in rows for value in (row.low, row.ratio, row.high)]
    scale = axes.around([*ends, 1.0], log=True)
    x = axes.Axis(scale, _factors(scale), _factor)
    height = ROW * len(rows)
    marks = [drawing.line(x.at(1.0), 0, x.at(1.0), height, "dashed")]
    for number, row in enumerate(rows):
        y = ROW * (number + 0.5)
        colour, shape = OUTCOMES[row.outcome]
        low, ratio, high = (x.at(_limited(value)) for value in (row.low, row.ratio, row.high))
        marks.append(drawing.line(low, y, high, y, "spread", style=f"stroke: {colour}"))
        title = f"{row.name}: {row.text}"
        marks.append(drawing.symbol(ratio, y, shape, colour, title=title))
    return drawing.plot(height, marks, x=x, names=[row.name for row in rows])


def _limited(factor: float) -> float:
    """A factor, or the largest that is drawn: times of next to nothing make any number."""
    return min(max(factor, 1.0 / _LARGEST), _LARGEST)


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


def _changes_legend(rows: Sequence[TimeMark]) -> Sequence[Key]:
    outcomes = {row.outcome for row in rows}
    return [Key(_WORDS.get(each, each), *OUTCOMES[each]) for each in OUTCOMES if each in outcomes]


class LaunchTimes(NamedTuple):
    """Launches of a side in their order, with their median and its interval, in seconds."""

    side: str
    times: tuple[float, ...]
    median: float
    low: float
    high: float


class NoiseBand(NamedTuple):
    """What counts as noise, in seconds."""

    low: float
    high: float


def _launches(rows: Sequence[LaunchTimes | NoiseBand], scale: str = "") -> Markup:
    """Launches as dots in their order from top to bottom, with the median across them.

    A side is told by its place and its name; colours only repeat that.
    """
    near = scale == "near"
    sides = [row for row in rows if isinstance(row, LaunchTimes)]
    bands = [row for row in rows if isinstance(row, NoiseBand)]
    values = [end for row in rows for end in (row.low, row.high)]
    values += [time for side in sides for time in (*side.times, side.median)]
    axis_scale = axes.around(values, zero=not near)
    title = "Time of a launch" + ("; the axis does not begin at zero" if near else "")
    x = axes.Axis(axis_scale, axis_scale.ticks(5), lambda value: axes.prefixed(value, "s"), title)
    height = _SIDE * len(sides)
    marks = [
        drawing.box(x.at(each.low), 0, x.at(each.high) - x.at(each.low), height, "noise")
        for each in bands
    ]
    for at, side in enumerate(sides):
        marks += _side(side, x, at * _SIDE)
    return drawing.plot(height, marks, x=x, names=[each.side for each in sides])


def _side(side: LaunchTimes, x: axes.Axis, top: float) -> Iterable[Markup]:
    look = "after" if side.side == "After" else "before"
    for order, time in enumerate(side.times, 1):
        y = top + 8 + (_SIDE - 16) * (order - 0.5) / len(side.times)
        title = f"{side.side}, launch {order}: {axes.prefixed(time, 's')}"
        yield drawing.dot(x.at(time), y, 3, f"launch {look}", title)
    low, middle, high = (axes.prefixed(each, "s") for each in (side.low, side.median, side.high))
    title = f"{side.side}: median {middle}, 95 % interval {low} to {high}"
    y, at = top + _SIDE / 2, x.at(side.median)
    yield drawing.line(x.at(side.low), y, x.at(side.high), y, f"interval {look}", title=title)
    yield drawing.line(at, top + 5, at, top + _SIDE - 5, "median", title=title)


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


class HistoryPoint(NamedTuple):
    """A kernel's median, in seconds, at a date in milliseconds since 1970; ``title`` tells all.

    ``changed`` says that the verdict is another one than before.
    """

    date: float
    time: float
    low: float
    high: float
    gpu: str
    look: Key
    change: str
    changed: bool
    title: str


def _history(rows: Sequence[HistoryPoint], scale: str = "") -> Markup:
    """A kernel's medians over dates: verdicts by colour and shape, dashed lines at their changes.
    A time that changed says by how much.

    A linear axis begins at zero: noise has to look like noise.
    """
    x = axes.dates(*(end(row.date for row in rows) for end in (min, max)))
    times = [time for row in rows for time in (row.low, row.time, row.high)]
    time_scale = axes.around(times, zero=scale != "log", log=scale == "log")
    if not time_scale.log:  # room for what is written above the points
        time_scale = axes.AxisScale(time_scale.low, 1.1 * time_scale.high)
    y = axes.Axis(time_scale, time_scale.ticks(8), lambda value: axes.prefixed(value, "s"), "Time")
    places = [(x.at(row.date), (1 - y.at(row.time)) * HEIGHT) for row in rows]
    marks = [
        drawing.line(at, 0, at, HEIGHT, "dashed", title=row.title)
        for row, (at, _) in zip(rows, places, strict=True)
        if row.changed
    ]
    for gpu in dict.fromkeys(row.gpu for row in rows):
        own = [place for row, place in zip(rows, places, strict=True) if row.gpu == gpu]
        marks += [drawing.line(*start, *end, "way") for start, end in pairwise(own)]
    for row, (at, height) in zip(rows, places, strict=True):
        if row.high > row.low:
            low, high = ((1 - y.at(end)) * HEIGHT for end in (row.low, row.high))
            marks.append(drawing.line(at, low, at, high, "whisker"))
        marks.append(drawing.symbol(at, height, row.look.shape, row.look.colour, title=row.title))
        if row.change.startswith(_CHANGED):
            top = max(height - 14, 10.0)
            marks.append(drawing.text(at, top, row.change, "change", anchor=drawing.inward(at)))
    return drawing.plot(HEIGHT, marks, x=x, y=y)


def _history_legend(rows: Sequence[HistoryPoint]) -> Sequence[Key]:
    return list(dict.fromkeys(row.look for row in rows))


KINDS: Final = {
    "changes": ChartKind(_changes, wide=True, legend=_changes_legend),
    "launches": ChartKind(_launches, wide=True),
    "history": ChartKind(_history, wide=True, legend=_history_legend),
}
