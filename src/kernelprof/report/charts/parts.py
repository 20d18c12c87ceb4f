"""What all charts share: colours by theme, the frame of a specification, tidy numbers."""

from __future__ import annotations

import math
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
    """What a module says of its chart.

    ``spec`` takes the options of the chart's kind. ``table`` has the columns of the same content as
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
FONT_SIZE: Final = 12
CHARACTER: Final = 7.2
"""Pixels that a character of such text takes in a wide font."""

WIDEST_LABEL: Final = 200

# Names of the page's CSS variables: theme and printer change a colour without a new drawing.
INK: Final = "var(--fg)"
MUTED: Final = "var(--muted)"
PANEL: Final = "var(--panel)"
ACCENT: Final = "var(--accent)"
CALM: Final = "var(--calm)"
ROOF: Final = "var(--roof)"
INSIDE: Final = "var(--inside)"

CONFIG: Final[Spec] = {
    "background": None,
    "font": "system-ui, sans-serif",
    "view": {"stroke": None},
    "text": {"color": INK, "fontSize": FONT_SIZE},
    "axis": {
        "labelColor": INK,
        "titleColor": MUTED,
        "gridColor": "var(--grid)",
        "domainColor": "var(--line)",
        "tickColor": "var(--line)",
        "labelFontSize": FONT_SIZE,
        "titleFontSize": FONT_SIZE,
        "titleFontWeight": "normal",
    },
}
"""What Vega-Lite is told about looks, for every chart."""

PERCENT: Final = "format(100 * datum.value, 'd') + ' %'"
SHARES: Final[Spec] = {
    "axis": {"labelExpr": PERCENT, "values": [0, 0.25, 0.5, 0.75, 1]},
    "scale": {"domain": [0, 1.15]},
}
"""The axis of shares: all of the whole, and room for the number at the end of a full bar."""

NAMES: Final[Spec] = {
    "field": "name",
    "type": "nominal",
    "title": None,
    "sort": None,
    "axis": {"labelLimit": WIDEST_LABEL, "domain": False, "ticks": False},
}
"""The axis of a chart whose bars have names."""

FIRST: Final[Spec] = {
    "condition": {"test": "datum.first", "value": ACCENT},
    "value": CALM,
}
"""The bars that matter stand out."""

BAR: Final[Spec] = {"type": "bar", "cornerRadiusEnd": 3}
POINT: Final[Spec] = {"type": "point", "filled": True, "size": 110, "opacity": 1}

_DIGITS: Final = 6
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


def tooltip(*fields: tuple[str, ...]) -> list[Spec]:
    """What is shown for a mark: fields with their titles, and the format of a number."""
    return [dict(zip(("field", "title", "format"), each, strict=False)) for each in fields]


def layer(test: str | Sequence[Spec], mark: Spec, **encoding: Any) -> Spec:
    """A layer of the rows that pass a test (all, where it is empty), or that are transformed."""
    transform = [{"filter": test}] if test and isinstance(test, str) else list(test)
    rows = {"transform": transform} if transform else {}
    return {**rows, "mark": mark, "encoding": encoding}


def over(test: str | Sequence[Spec], mark: Spec, **encoding: Any) -> list[Spec]:
    """A text that can be read on lines: first its outline in the paper's colour, then itself."""
    outline = {**mark, "stroke": PANEL, "strokeWidth": 6, "strokeJoin": "round", "fill": PANEL}
    return [layer(test, each, **encoding) for each in (outline, mark)]


def behind(text: str | Spec = "text", test: str = "", *, mark: Spec | None = None) -> Spec:
    """A field as text behind the end of its bar."""
    content = {"field": text} if isinstance(text, str) else text
    return layer(test, {"type": "text", "align": "left", "dx": 4, **(mark or {})}, text=content)


_POWER: Final = "pow(10, floor(log(datum.value) / LN10 + 1e-9))"
_ROUND: Final = f"indexof([1, 2, 5], round(datum.value / {_POWER})) >= 0"


def log_axis(form: str, unit: str = "") -> dict[str, Spec]:
    """Scale and axis with lines and numbers at 1, 2 and 5 of each power of ten, and no others.

    A ``unit`` goes behind the number's prefix: ``200 MB``.
    """
    at_round = {"condition": {"test": _ROUND, "value": 1}, "value": 0}
    number = f"format(datum.value, '{form}')"
    if unit:
        number = f"replace({number}, regexp('([a-zA-Z]?)$'), ' $1') + '{unit}'"
    ticks = {
        "labelExpr": f"{_ROUND} ? {number} : ''",
        "labelOverlap": "greedy",
        "tickCount": 12,
        "gridOpacity": at_round,
        "tickOpacity": at_round,
    }
    return {"scale": {"type": "log", "nice": False}, "axis": ticks}


def tidy(value: float) -> float:
    """Six digits: more cannot be seen, and the last ones differ between processors."""
    return float(f"{value:.{_DIGITS}g}")


def time_unit(nanoseconds: float) -> tuple[float, str]:
    """The unit for a time, with its nanoseconds."""
    found = (each for each in _TIME_UNITS if abs(nanoseconds) >= each[0])
    return next(found, _TIME_UNITS[-1])


def decade(value: float, *, up: bool) -> float:
    """The power of ten below or above."""
    exponent = math.log10(value)
    return float(10.0 ** (math.ceil(exponent) if up else math.floor(exponent)))
