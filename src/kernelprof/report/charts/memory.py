"""The memory of the GPU as a map: its levels, and what moves between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kernelprof.model.numbers import share as percent
from kernelprof.report.charts.parts import ChartKind, Row, Rows, real, tidy
from kernelprof.report.markup import classes, element, joined

if TYPE_CHECKING:
    from collections.abc import Iterable

    from markupsafe import Markup

COLUMNS: Final = (("kernel",), ("l1", "shared"), ("l2",), ("dram",))
"""The levels from the left to the right, those of a column below one another."""


@dataclass(frozen=True, slots=True)
class MapLevel:
    """A level of the memory and what is to be known of it."""

    id: str
    name: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MapLink:
    """What moves between two levels; ``text`` are its bytes.

    ``use`` is how much of its peak the link is used, 0 to 1, and ``needless`` the part of the bytes
    that the kernel could do without. One that is ``limiting`` is where the verdict says that the
    kernel is held back.
    """

    start: str
    end: str
    name: str
    text: str
    use: float | None = None
    needless: float | None = None
    notes: tuple[str, ...] = ()
    tip: str = ""
    limiting: bool = False


def rows(levels: Iterable[MapLevel], links: Iterable[MapLink]) -> tuple[Row, ...]:
    """The levels, and the links between them."""
    result: list[Row] = [
        {"what": "level", "id": each.id, "name": each.name, "notes": each.notes} for each in levels
    ]
    result += [
        {
            "what": "link",
            "start": each.start,
            "end": each.end,
            "name": each.name,
            "text": each.text,
            "use": None if each.use is None else tidy(each.use),
            "needless": None if each.needless is None else tidy(each.needless),
            "notes": each.notes,
            "tip": each.tip,
            "limiting": each.limiting,
        }
        for each in links
    ]
    return tuple(result)


def _draw(rows_of_map: Rows) -> Markup:
    levels = {str(row["id"]): row for row in rows_of_map if row["what"] == "level"}
    links = [row for row in rows_of_map if row["what"] == "link"]
    parts = []
    for at, column in enumerate(COLUMNS):
        here = [_level(levels[each]) for each in column if each in levels]
        if not here:
            continue
        if at:
            between = [_link(row) for row in links if row["end"] in column]
            parts.append(element("ul", joined(between, ""), class_="links"))
        parts.append(element("div", joined(here, ""), class_="levels"))
    return element("div", joined(parts), class_="memory-map")


def _level(row: Row) -> Markup:
    notes = row["notes"]
    assert isinstance(notes, tuple)
    lines = [element("span", str(each), class_="muted") for each in notes]
    return element("div", element("strong", str(row["name"])), *lines, class_="level")


def _link(row: Row) -> Markup:
    notes = row["notes"]
    assert isinstance(notes, tuple)
    parts = [element("span", str(row["name"]), class_="what")] if row["name"] else []
    parts.append(element("strong", str(row["text"])))
    if row["use"] is not None:
        use = real(row, "use")
        fill = element("span", class_="fill", style=f"width: {100 * use:.1f}%")
        parts.append(element("span", fill, class_="bar", aria_hidden="true"))
        parts.append(element("span", f"{percent(use)} of peak", class_="use"))
    if row["needless"]:
        parts.append(element("span", f"{percent(real(row, 'needless'))} needless", class_="waste"))
    parts += [element("span", str(each), class_="muted") for each in notes]
    if row["limiting"]:
        parts.append(element("span", "limits the kernel", class_="status"))
    look = classes("link", "limiting" if row["limiting"] else "")
    return element("li", joined(parts, " "), class_=look, title=str(row["tip"]))


KIND: Final = ChartKind(_draw, readable=True, wide=True)
