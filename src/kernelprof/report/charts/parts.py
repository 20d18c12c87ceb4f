"""What all charts share: what there is to know of a kind, shapes, tidy numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from markupsafe import Markup

Row = dict[str, object]
Rows = Sequence[Row]


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
    of the same content as a table: heading and field; a row that lacks the first field is no
    content. A ``wide`` chart takes the whole width of a page. ``legend`` gives what the rows'
    colours and shapes mean.
    """

    draw: Callable[..., Markup]
    readable: bool = False
    table: Sequence[tuple[str, str]] = ()
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
"""Marks, each as a path in a square of 16 by 16."""

# Names of the page's CSS variables: theme and printer change a colour without a new drawing.
ACCENT: Final = "var(--accent)"
BEFORE: Final = "var(--before)"
_TIME_UNITS: Final = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns"))


def tidy(value: float, digits: int = 6) -> float:
    """Six digits: more cannot be seen, and the last ones differ between processors."""
    return float(f"{value:.{digits}g}")


def real(row: Row, field: str) -> float:
    """A number of a row, which may hold anything."""
    value = row[field]
    assert isinstance(value, int | float)
    return float(value)


def time_unit(nanoseconds: float) -> tuple[float, str]:
    """The unit for a time, with its nanoseconds."""
    units = (each for each in _TIME_UNITS if abs(nanoseconds) >= each[0])
    return next(units, _TIME_UNITS[-1])
