"""What charts share: kinds and keys, tidy numbers, and a plot with its axes and marks as markup.

A plot is an SVG without a scale of its own: places along it are percentages, heights and texts
pixels. So it is drawn once, for every width, and colours are the variables of the page's style.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from markupsafe import Markup

from kernelprof.report.markup import Attribute, element, joined

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from kernelprof.report.charts.axes import Axis


@dataclass(frozen=True, slots=True)
class Key:
    """An entry of a legend; the shape is one of :data:`SHAPES`."""

    words: str
    colour: str
    shape: str = "square"


@dataclass(frozen=True, slots=True)
class ChartKind:
    """A kind of chart.

    ``draw`` takes the rows and the options of the chart's name, and gives markup. A ``readable``
    one is text already, as a table or as links; another one is a picture. ``table`` has the columns
    of the same content as a table: heading and attribute of a row. A ``wide`` chart takes the whole
    width of a page. ``legend`` gives what the rows' colours and shapes mean.
    """

    draw: Callable[..., Markup]
    readable: bool = False
    table: Sequence[tuple[str, str]] = ()
    wide: bool = False
    legend: Callable[[Sequence[Any]], Sequence[Key]] = lambda _: ()


SHAPES: Final = {
    "circle": "M8 2A6 6 0 1 1 8 14A6 6 0 1 1 8 2Z",
    "square": "M3 3H13V13H3Z",
    "triangle-up": "M8 2L14.5 13H1.5Z",
    "diamond": "M8 1L14 8L8 15L2 8Z",
    "triangle-down": "M8 14L1.5 3H14.5Z",
    "triangle-left": "M2 8L13 1.5V14.5Z",
    "cross": "M6 2H10V6H14V10H10V14H6V10H2V6H6Z",
}
"""Marks, each as a path in a square of 16 by 16."""

# Names of the page's CSS variables: theme and printer change a colour without a new drawing.
ACCENT: Final = "var(--accent)"
BEFORE: Final = "var(--before)"
_TIME_UNITS: Final = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns"))


def tidy(value: float, digits: int = 6) -> float:
    """Six digits: more cannot be seen, and the last ones differ between processors."""
    return float(f"{value:.{digits}g}")


def time_unit(nanoseconds: float) -> tuple[float, str]:
    """The unit for a time, with its nanoseconds."""
    units = (each for each in _TIME_UNITS if abs(nanoseconds) >= each[0])
    return next(units, _TIME_UNITS[-1])


AXIS_HEIGHT: Final = 24
TITLE_HEIGHT: Final = 18
EDGE: Final = 0.04
"""The part of an axis at its ends where a number is written inwards."""


def percent(part: float) -> str:
    """A place along a plot."""
    return f"{100 * part:.2f}%"


def line(
    x: float, y: float, x2: float, y2: float, look: str, *, title: str = "", **style: Attribute
) -> Markup:
    """A line; ``x`` are parts of the width, ``y`` pixels."""
    ends = {"x1": percent(x), "y1": f"{y:.1f}", "x2": percent(x2), "y2": f"{y2:.1f}"}
    return element("line", _title(title), class_=look, **ends, **style)


def box(x: float, y: float, width: float, height: float, look: str) -> Markup:
    """A rectangle."""
    place = {"x": percent(x), "y": f"{y:.1f}"}
    size = {"width": percent(width), "height": f"{height:.1f}"}
    return element("rect", class_=look, **place, **size)


def dot(x: float, y: float, radius: float, look: str, title: str = "") -> Markup:
    """A small round mark."""
    place = {"cx": percent(x), "cy": f"{y:.1f}", "r": f"{radius:g}"}
    return element("circle", _title(title), class_=look, **place)


def symbol(
    x: float, y: float, shape: str, colour: str, *, title: str = "", hollow: bool = False
) -> Markup:
    """A mark with a shape of :data:`SHAPES`; what it means is told where a pointer rests."""
    fill = "var(--panel)" if hollow else colour
    style = f"fill: {fill}; stroke: {colour}"
    path = element(
        "path", _title(title), d=SHAPES[shape], style=style, transform="translate(-8 -8)"
    )
    return element("svg", path, x=percent(x), y=f"{y:.1f}", class_="symbol", overflow="visible")


def text(
    x: float, y: float, words: str, look: str = "", *, anchor: str = "", dx: float = 0.0
) -> Markup:
    """Words at a place; ``anchor`` is ``middle`` or ``end``."""
    given = {"x": percent(x), "y": f"{y:.1f}", "text_anchor": anchor, "dx": f"{dx:g}" if dx else ""}
    return element("text", words, class_=look, **given)


def inward(part: float) -> str:
    """The anchor of a number below its place; at the ends of an axis it is written inwards."""
    if part < EDGE:
        return ""
    return "end" if part > 1 - EDGE else "middle"


def plot(
    height: float,
    marks: Iterable[Markup],
    *,
    x: Axis,
    y: Axis | None = None,
    names: Sequence[str] = (),
) -> Markup:
    """Marks above an axis, with the numbers of another one or with names at its side."""
    parts: list[Markup] = []
    for value in () if y is None else y.ticks:
        at = (1 - y.at(value)) * height if y is not None else 0.0
        parts.append(line(0, at, 1, at, "grid"))
    for number, value in enumerate(x.ticks):
        at = x.at(value)
        parts.append(line(at, 0, at, height, "grid"))
        look = "tick" if number % 2 == 0 else "tick spare"
        parts.append(text(at, height + 17, x.text(value), look, anchor=inward(at)))
    parts.append(line(0, height, 1, height, "base"))
    if x.title:
        parts.append(text(0.5, height + 34, x.title, "title", anchor="middle"))
    whole = height + AXIS_HEIGHT + (TITLE_HEIGHT if x.title else 0)
    area = element("svg", joined([*parts, *marks], ""), class_="area", height=f"{whole:g}")
    return element("div", _side(height, y, names), area, class_="plot")


def _side(height: float, y: Axis | None, names: Sequence[str]) -> Markup:
    if y is not None:
        labels = [(y.at(value), y.text(value)) for value in y.ticks]
        width = max((len(words) for _, words in labels), default=0)
        spans = [
            element("span", words, style=f"top: {(1 - at) * height:.1f}px") for at, words in labels
        ]
        title = element("p", y.title, class_="title") if y.title else Markup("")
        look = f"width: {width + 1}ch; height: {height:g}px"
        return joined([title, element("div", joined(spans, ""), class_="ticks", style=look)], "")
    each = height / max(len(names), 1)
    rows = [element("div", name, title=name, style=f"height: {each:g}px") for name in names]
    return element("div", joined(rows, ""), class_="names")


def _title(words: str) -> Markup:
    return element("title", words) if words else Markup("")
