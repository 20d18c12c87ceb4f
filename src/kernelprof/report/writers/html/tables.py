"""Tables as HTML."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from kernelprof.report.document import plain
from kernelprof.report.markup import Markup, classes, element, inline, joined

if TYPE_CHECKING:
    from kernelprof.report.document import Bar, Cell, Column, Table
    from kernelprof.report.writers.html.page import Page

    Cells = tuple[Cell, ...]

CARDS_FROM: Final = 4
"""Columns from which a row is a card where there is little room."""

BROAD_FROM: Final = 28
"""Characters of a text from which it has a line of its own on a card."""

LONG_FROM: Final = 13
"""Characters of a word from which a third of a card is too little."""

DENSE_FROM: Final = 9
"""Columns from which a table is set in smaller type."""

_FILTER: Final = Markup(
    '<p class="find"><label>Filter <input type="search" class="filter" autocomplete="off"></label> '
    '<span role="status" class="muted shown"></span></p>'
)


def table(found: Table, page: Page) -> Markup:
    """A table; a long one can be sorted and filtered, and in a folded section is filled later."""
    live = found.long and not page.static
    later = live and page.folds > 0
    number = page.store_table(found) if later else None
    rows = [] if later else [_row(found, row, page) for row in found.rows]
    parts = [_head(found.columns, sortable=live)] if found.headings else []
    parts.append(element("tbody", joined(rows)))
    is_card = found.headings and len(found.columns) >= CARDS_FROM
    look = classes(
        "sortable" if live else "",
        "long" if found.long else "",
        "cards" if is_card else "",
        "dense" if len(found.columns) >= DENSE_FROM else "",
    )
    whole = element("table", joined(parts), class_=look, data_rows=number)
    box = scrolling(whole, "scroll", page.label(f"Table: {found.label}"))
    return element("div", _FILTER, box, class_="filtered") if live else box


def scrolling(content: Markup, look: str, label: str, show: str | None = None) -> Markup:
    """What is scrolled by itself, by keyboard too."""
    return element(
        "div", content, class_=look, tabindex="0", role="region", aria_label=label, data_show=show
    )


@lru_cache
def _head(columns: tuple[Column, ...], *, sortable: bool) -> Markup:
    cells = []
    for column in columns:
        title, look = column.title, classes(*_look(column))
        if not title:
            cells.append(element("td", class_=look))
        elif sortable:
            button = element("button", title, type="button")
            head = {"scope": "col", "class_": look, "aria_sort": "none", "data_name": title}
            cells.append(element("th", button, **head))
        else:
            cells.append(element("th", title, scope="col", class_=look))
    return element("thead", element("tr", *cells))


def _row(found: Table, row: Cells, page: Page) -> Markup:
    """A row. The tip of a short table's first cell unfolds, others are hovered for."""
    is_card = found.headings and len(found.columns) >= CARDS_FROM
    parts = []
    for position, (cell, column) in enumerate(zip(row, found.columns, strict=True)):
        content = inline(cell.text, links=not page.static)
        room = _room(plain(cell.text)) if is_card else ""
        unfolds = position == 0 and not found.long and bool(cell.tip) and not page.static
        if unfolds:
            tip = element("p", inline(cell.tip), class_="muted")
            content = element("details", element("summary", content), tip, class_="tip")
        if cell.bar is not None:
            content = joined([content, _bar(cell.bar)], "")
        parts.append(
            element(
                "td",
                content,
                class_=classes(*_look(column), "bars" if cell.bar else "", room),
                data_label=column.title if is_card else None,
                title=None if unfolds else cell.tip,
                data_value=None if cell.sort is None else f"{cell.sort:.9g}",
            )
        )
    return element("tr", *parts)


def _room(text: str) -> str:
    """How much of a card's width a text takes there."""
    if len(text) >= BROAD_FROM:
        return "broad"
    return "long" if any(len(word) >= LONG_FROM for word in text.split()) else ""


def _look(column: Column) -> tuple[str, str]:
    return "number" if column.number else "", "spare" if column.optional else ""


def _bar(bar: Bar) -> Markup:
    parts = [element("span", class_="fill", style=f"width: {100 * bar.fill:.1f}%")]
    if bar.mark is not None:
        parts.append(element("span", class_="mark", style=f"left: {100 * bar.mark:.1f}%"))
    return element("span", *parts, class_="bar", aria_hidden="true")
