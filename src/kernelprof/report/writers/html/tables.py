"""Tables and listings of code as HTML."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from kernelprof.model.names import printable
from kernelprof.model.numbers import share
from kernelprof.report.document import LineNote
from kernelprof.report.markup import Markup, classes, element, inline, joined

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kernelprof.report.document import Bar, Cell, Code, Column, Table
    from kernelprof.report.writers.html.page import Page

    Cells = tuple[Cell, ...]
    Line = tuple[str, int | None, int | None, str]
    """What became of a line (``kept``, ``removed``, ``added``, ``gap`` between hunks), its number
    on both sides, and its text."""

CARDS_FROM: Final = 4
"""Columns from which a row is a card where there is little room."""

DENSE_FROM: Final = 9
"""Columns from which a table is set in smaller type."""

_HEAD: Final = ("--- ", "+++ ")
_HUNK: Final = re.compile(r"@@ -(\d{1,9})(?:,\d+)? \+(\d{1,9})(?:,\d+)? @@")
_KINDS: Final = {"-": "removed", "+": "added"}

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
    box = _scrolling(whole, "scroll", page.label(f"Table: {found.label}"))
    return element("div", _FILTER, box, class_="filtered") if live else box


def code(found: Code, anchor: str, page: Page) -> Markup:
    """Code to copy, a difference, or a listing with the number of each line."""
    if found.language == "diff":
        rows = [_diff_row(*line) for line in lines(found.text)]
        whole = _source(("Before", "After", "Line"), rows, "source diff")
        return _scrolling(whole, "code", page.label("Difference of the sources"))
    if found.numbered or found.shares:
        return _listing(found, anchor, page)
    if not found.copy or page.static:
        return element("pre", element("code", found.text), tabindex="0")
    name = page.next_id("code")
    pre = element("pre", element("code", found.text, id=name), tabindex="0")
    button = element("button", "Copy", type="button", class_="copy", data_copy_target=name)
    return element("div", pre, button, class_="command")


def _listing(found: Code, anchor: str, page: Page) -> Markup:
    """Code line by line as a compiler counts them, with the shares or notes of those to mark."""
    notes = found.notes or tuple(LineNote(n, share(by), by, True) for n, by in found.shares)
    beside = {each.line: each for each in notes}
    rows = []
    for number, text in enumerate(found.text.removesuffix("\n").split("\n"), start=1):
        note = beside.get(number)
        is_hot = note is not None and note.marked
        cells = [_number(number), element("td", element("code", text.rstrip("\r")))]
        if notes:
            style = f"--share: {100 * note.part:.1f}%" if note is not None and is_hot else ""
            text_beside = "" if note is None else note.text
            cells.insert(0, element("td", text_beside, class_="part", style=style))
        line = f"{anchor}-line-{number}" if note is not None and not page.static else None
        rows.append(element("tr", *cells, class_="hot" if is_hot else "", id=line))
    titles = (*((found.noted or "Samples",) if notes else ()), "Line", "Source")
    hottest = max(notes, key=lambda each: each.part, default=None)
    show = None if hottest is None or page.static else f"{anchor}-line-{hottest.line}"
    whole = _source(titles, rows, "source")
    return _scrolling(whole, "code", page.label(f"Source: {found.name}"), show)


def lines(diff: str) -> Iterable[Line]:
    """The lines of a diff; only its first two can be names of files."""
    found = diff.split("\n") if diff else []
    if len(found) >= len(_HEAD) and all(map(str.startswith, found, _HEAD)):
        found = found[len(_HEAD) :]
    before = after = 1
    for position, raw in enumerate(found):
        line = printable(raw.expandtabs(4))
        kind = _KINDS.get(line[:1], "kept")
        hunk = _HUNK.match(line)
        if hunk is not None:
            before, after = int(hunk[1]), int(hunk[2])
            if position:
                yield "gap", None, None, ""
            continue
        yield (
            kind,
            before if kind != "added" else None,
            after if kind != "removed" else None,
            line[1:],
        )
        before, after = before + (kind != "added"), after + (kind != "removed")


def _diff_row(kind: str, before: int | None, after: int | None, text: str) -> Markup:
    """A line of a diff; what became of it is said in words too."""
    if kind == "gap":
        return element("tr", element("td", "…", colspan=3), class_=kind)
    signs = [sign for sign, name in _KINDS.items() if name == kind]
    marks = [element("span", sign, class_="sign", role="img", aria_label=kind) for sign in signs]
    cell = element("td", *marks, element("code", text))
    return element("tr", _number(before), _number(after), cell, class_=kind)


def _number(line: int | None) -> Markup:
    return element("td", "" if line is None else str(line), class_="no")


def _source(titles: Iterable[str], rows: Iterable[Markup], look: str) -> Markup:
    head = element("thead", element("tr", *(element("th", each, scope="col") for each in titles)))
    return element("table", head, element("tbody", joined(rows)), class_=look)


def _scrolling(content: Markup, look: str, label: str, show: str | None = None) -> Markup:
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
                class_=classes(*_look(column), "bars" if cell.bar else ""),
                data_label=column.title if is_card else None,
                title=None if unfolds else cell.tip,
                data_value=None if cell.sort is None else f"{cell.sort:.9g}",
            )
        )
    return element("tr", *parts)


def _look(column: Column) -> tuple[str, str]:
    return "number" if column.number else "", "spare" if column.optional else ""


def _bar(bar: Bar) -> Markup:
    parts = [element("span", class_="fill", style=f"width: {100 * bar.fill:.1f}%")]
    if bar.mark is not None:
        parts.append(element("span", class_="mark", style=f"left: {100 * bar.mark:.1f}%"))
    return element("span", *parts, class_="bar", aria_hidden="true")
