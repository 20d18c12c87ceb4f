"""The memory of the GPU as a map: its levels, and what moves between them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from kernelprof.model.numbers import share as percent
from kernelprof.report.charts.drawing import ChartKind, tidy
from kernelprof.report.markup import classes, element, joined

if TYPE_CHECKING:
    from collections.abc import Sequence

    from markupsafe import Markup

COLUMNS: Final = (("kernel",), ("l1", "shared"), ("l2",), ("dram",))
"""The levels from the left to the right, those of a column below one another."""


class MapLevel(NamedTuple):
    """A level of the memory and what is to be known of it."""

    id: str
    name: str
    notes: tuple[str, ...] = ()


class MapLink(NamedTuple):
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


def _draw(rows: Sequence[MapLevel | MapLink]) -> Markup:
    levels = {row.id: row for row in rows if isinstance(row, MapLevel)}
    links = [row for row in rows if isinstance(row, MapLink)]
    parts = []
    for at, column in enumerate(COLUMNS):
        here = [_level(levels[each]) for each in column if each in levels]
        if not here:
            continue
        if at:
            between = [_link(each) for each in links if each.end in column]
            parts.append(element("ul", joined(between, ""), class_="links"))
        parts.append(element("div", joined(here, ""), class_="levels"))
    return element("div", joined(parts), class_="memory-map")


def _level(level: MapLevel) -> Markup:
    lines = [element("span", each, class_="muted") for each in level.notes]
    return element("div", element("strong", level.name), *lines, class_="level")


def _link(link: MapLink) -> Markup:
    parts = [element("span", link.name, class_="what")] if link.name else []
    parts.append(element("strong", link.text))
    if link.use is not None:
        use = tidy(link.use)
        fill = element("span", class_="fill", style=f"width: {100 * use:.1f}%")
        parts.append(element("span", fill, class_="bar", aria_hidden="true"))
        parts.append(element("span", f"{percent(use)} of peak", class_="use"))
    if link.needless:
        parts.append(element("span", f"{percent(tidy(link.needless))} needless", class_="waste"))
    parts += [element("span", each, class_="muted") for each in link.notes]
    if link.limiting:
        parts.append(element("span", "limits the kernel", class_="status"))
    look = classes("link", "limiting" if link.limiting else "")
    return element("li", joined(parts, " "), class_=look, title=link.tip)


KIND: Final = ChartKind(_draw, readable=True, wide=True)
