"""What all charts share: colours by theme, the frame of a specification, tidy numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

Row = dict[str, object]
Spec = dict[str, Any]
Rows = Sequence[Row]


@dataclass(frozen=True, slots=True)
class Key:
    """An entry of a legend; the shape is one of :data:`SHAPES`."""

    words: str
    colour: str
    shape: str = "square"


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of chart.

    ``spec`` takes the options of the chart's name. ``table`` has the columns of the same content as
    a table: heading, field and form (``text``, ``number``, ``share``, ``times`` or ``tip``); a row
    that lacks the first field is no content. A ``wide`` chart takes the whole width of a page.
    ``legend`` gives what the rows' colours and shapes mean.
    """

    spec: Callable[..., Spec]
    table: Sequence[tuple[str, str, str]] = ()
    wide: bool = False
    legend: Callable[[Rows], Sequence[Key]] = lambda _: ()


SHAPES: Final = {
    "circle": "M8 2A6 6 0 1 1 8 14A6 6 0 1 1 8 2Z",
    "square": "M3 3H13V13H3Z",
    "triangle-up": "M8 2L14.5 13H1.5Z",
    "diamond": "M8 1L14 8L8 15L2 8Z",
    "triangle-down": "M8 14L1.5 3H14.5Z",
    "triangle-left": "M2 8L13 1.5V14.5Z",
    "cross": "M6 2H10V6H14V10H10V14H6V10H2V6H6Z",
}
"""Marks of Vega-Lite, each as a path in a square of 16 by 16."""

SCHEMA: Final = "https://vega.github.io/schema/vega-lite/v6.json"
ROW_HEIGHT: Final = 22

# Names of the page's CSS variables: theme and printer change a colour without a new drawing.
INK: Final = "var(--fg)"
MUTED: Final = "var(--muted)"
PANEL: Final = "var(--panel)"
ACCENT: Final = "var(--accent)"
CALM: Final = "var(--calm)"
ROOF: Final = "var(--roof)"
BEFORE: Final = "var(--before)"

CONFIG: Final[Spec] = {
    "background": None,
    "font": "system-ui, sans-serif",
    "view": {"stroke": None},
    "text": {"color": INK, "fontSize": 12},
    "axis": {
        "labelColor": INK,
        "titleColor": MUTED,
        "gridColor": "var(--grid)",
        "domainColor": "var(--line)",
        "tickColor": "var(--line)",
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
    },
}
"""What Vega-Lite is told about looks, for every chart."""

NAMES: Final[Spec] = {
    "field": "name",
    "type": "nominal",
    "title": None,
    "sort": None,
    "axis": {"labelLimit": 200, "domain": False, "ticks": False},
}
"""The axis of a chart whose marks have names."""

POINT: Final[Spec] = {"type": "point", "filled": True, "size": 110, "opacity": 1}
DASHED: Final[Spec] = {"type": "rule", "strokeDash": [4, 3], "color": MUTED}
TOP: Final[Spec] = {"value": 0}
BOTTOM: Final[Spec] = {"value": {"expr": "height"}}
_TIME_UNITS: Final = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns"))


def spec(**content: Any) -> Spec:
    """A specification as wide as its place in the page."""
    fit = {"type": "fit-x", "contains": "padding"}
    return {"$schema": SCHEMA, "width": "container", "autosize": fit, **content}


def axis(field: str, title: str | None, **more: Any) -> Spec:
    """The axis of a number."""
    return {"field": field, "type": "quantitative", "title": title, **more}


def look(field: str, looks: Mapping[str, str]) -> Spec:
    """The colour or the shape of each value of a field; the page writes the legend."""
    scale = {"domain": list(looks), "range": list(looks.values())}
    return {"field": field, "type": "nominal", "legend": None, "scale": scale}


def looks(field: str, known: Mapping[str, tuple[str, str]]) -> dict[str, Spec]:
    """Colour and shape of each value of a field."""
    parts = zip(("color", "shape"), zip(*known.values(), strict=True), strict=True)
    return {name: look(field, dict(zip(known, each, strict=True))) for name, each in parts}


def tooltip(*fields: tuple[str, ...]) -> list[Spec]:
    """What is shown for a mark: fields with their titles, and the format of a number."""
    return [dict(zip(("field", "title", "format"), each, strict=False)) for each in fields]


def layer(test: str, mark: Spec, **encoding: Any) -> Spec:
    """A layer of the rows that pass a test; of all, where it is empty."""
    rows = {"transform": [{"filter": test}]} if test else {}
    return {**rows, "mark": mark, "encoding": encoding}


def written(test: str, mark: Spec, field: str = "text", **encoding: Any) -> Spec:
    """A field of the rows that pass a test, as text."""
    return layer(test, {"type": "text", **mark}, text={"field": field}, **encoding)


def with_unit(form: str, unit: str) -> str:
    """The expression of a number with its unit behind the prefix: ``200 MB``."""
    return f"replace(format(datum.value, '{form}'), regexp('([a-zA-Zµ]?)$'), ' $1') + '{unit}'"


_POWER: Final = "pow(10, floor(log(datum.value) / LN10 + 1e-9))"
_ROUND: Final = f"indexof([1, 2, 5], round(datum.value / {_POWER})) >= 0"


def log_axis(form: str, unit: str = "") -> dict[str, Spec]:
    """Scale and axis with lines and numbers at 1, 2 and 5 of each power of ten, and no others."""
    at_round = {"condition": {"test": _ROUND, "value": 1}, "value": 0}
    number = with_unit(form, unit) if unit else f"format(datum.value, '{form}')"
    ticks = {
        "labelExpr": f"{_ROUND} ? {number} : ''",
        "labelOverlap": "greedy",
        "tickCount": 12,
        "gridOpacity": at_round,
        "tickOpacity": at_round,
    }
    return {"scale": {"type": "log", "nice": False}, "axis": ticks}


def tidy(value: float, digits: int = 6) -> float:
    """Six digits: more cannot be seen, and the last ones differ between processors."""
    return float(f"{value:.{digits}g}")


def time_unit(nanoseconds: float) -> tuple[float, str]:
    """The unit for a time, with its nanoseconds."""
    found = (each for each in _TIME_UNITS if abs(nanoseconds) >= each[0])
    return next(found, _TIME_UNITS[-1])
