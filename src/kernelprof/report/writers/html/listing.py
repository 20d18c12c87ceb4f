"""Listings of code as HTML: to copy, a difference, and a source with its machine code."""

from __future__ import annotations

import re
from collections import Counter
from itertools import count
from typing import TYPE_CHECKING, Final

from kernelprof.model.names import ELLIPSIS, printable
from kernelprof.model.numbers import count as counted
from kernelprof.model.numbers import share
from kernelprof.report.document import LineNote
from kernelprof.report.markup import Markup, classes, element, joined
from kernelprof.report.writers.html.tables import scrolling

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kernelprof.report.document import Code, MachineLine
    from kernelprof.report.writers.html.page import Page

    Line = tuple[str, int | None, int | None, str]
    """What became of a line (``kept``, ``removed``, ``added``, ``gap`` between hunks), its number
    on both sides, and its text."""

_HEAD: Final = ("--- ", "+++ ")
_HUNK: Final = re.compile(r"@@ -(\d{1,9})(?:,\d+)? \+(\d{1,9})(?:,\d+)? @@")
_KINDS: Final = {"-": "removed", "+": "added"}
_SAMPLES: Final = ("Samples",)
_LINE: Final = "Line"
_WAITS: Final = "Waits by"
_MACHINE: Final = (*_SAMPLES, _LINE, "Machine code", _WAITS)


def code(found: Code, anchor: str, page: Page) -> Markup:
    """Code to copy, a difference, or a listing with the number of each line."""
    if found.language == "diff":
        rows = [_diff_row(*line) for line in lines(found.text)]
        whole = _source(("Before", "After", "Line"), rows, "source diff")
        return scrolling(whole, "code", page.label("Difference of the sources"))
    if found.machine:
        return _panes(found, anchor, page)
    if found.numbered or found.shares:
        return _listing(found, anchor, page)
    if not found.copy or page.static:
        return element("pre", element("code", found.text), tabindex="0")
    name = page.next_id("code")
    pre = element("pre", element("code", found.text, id=name), tabindex="0")
    button = element("button", "Copy", type="button", class_="copy", data_copy_target=name)
    return element("div", pre, button, class_="command")


def _panes(found: Code, anchor: str, page: Page) -> Markup:
    """A source and its machine code beside one another; a line of one marks those of the other."""
    many = Counter(each.line for each in found.machine if each.line)
    told = ""
    if found.chosen is not None and found.text:
        told = f"Line {found.chosen}: {counted(many[found.chosen], 'instruction')}"
    left_out = set() if any(each.place for each in found.machine) else {_LINE}
    if not any(each.waits for each in found.machine):
        left_out.add(_WAITS)
    titles = [each for each in _MACHINE if each not in left_out]
    rows = [_instruction(each, titles, found.chosen) for each in found.machine]
    machine = _source(titles, rows, "source")
    label = page.label(f"Machine code: {found.name}")
    panes = [scrolling(machine, "code machine", label)]
    if found.text:
        panes.insert(0, _listing(found, anchor, page))
    said = element("p", told, class_="muted told", role="status") if not page.static else ""
    return element("div", *panes, said, class_=classes("panes", "" if found.text else "alone"))


def _instruction(each: MachineLine, titles: Sequence[str], chosen: int | None) -> Markup:
    if not each.text:
        return _gap(len(titles))
    look = classes("own" if each.line and each.line == chosen else "", "hot" if each.share else "")
    cells = [
        _part(LineNote(each.line, each.share, each.part, marked=bool(each.share))),
        element("td", each.place, class_="no") if _LINE in titles else Markup(""),
        element("td", element("code", each.text)),
        element("td", each.waits, class_="more") if _WAITS in titles else Markup(""),
    ]
    return element("tr", *cells, class_=look, data_of=each.line or None)


def _length(part: float) -> str:
    return f"--share: {100 * part:.1f}%"


def _listing(found: Code, anchor: str, page: Page) -> Markup:
    """Code line by line as a compiler counts them, with the shares or notes of those to mark."""
    notes = found.notes or tuple(LineNote(n, share(by), by, True) for n, by in found.shares)
    beside = {each.line: each for each in notes}
    titles = found.noted or (_SAMPLES if notes else ())
    with_code = {each.line for each in found.machine} if not page.static else frozenset[int]()
    rows, last = [], 0
    texts = found.text.removesuffix("\n").split("\n")
    for number, text in zip(found.numbers or count(1), texts, strict=False):
        if last and number != last + 1:
            rows.append(_gap(len(titles) + 2))
        last, note = number, beside.get(number)
        is_hot = note is not None and note.marked
        is_chosen = number == found.chosen and bool(found.machine)
        no = _number(number)
        if number in with_code:
            no = element("td", _choice(number, pressed=is_chosen), class_="no")
        cells = [no, element("td", element("code", text.rstrip("\r")))]
        if titles:
            cells.insert(0, _part(note))
        if titles[1:]:
            cells.append(element("td", "" if note is None else note.more, class_="more"))
        name = f"{anchor}-line-{number}" if note is not None and not page.static else None
        look = classes("hot" if is_hot else "", "chosen" if is_chosen else "")
        line = number if number in with_code else None
        rows.append(element("tr", *cells, class_=look, id=name, data_line=line))
    hottest = max(notes, key=lambda each: each.part, default=None)
    at = found.chosen or (None if hottest is None else hottest.line)
    show = None if at is None or page.static else f"{anchor}-line-{at}"
    whole = _source((*titles[:1], _LINE, "Source", *titles[1:]), rows, "source")
    return scrolling(whole, "code", page.label(f"Source: {found.name}"), show)


def _part(note: LineNote | None) -> Markup:
    """What stands before a line, with a bar where it is marked."""
    style = _length(note.part) if note is not None and note.marked else ""
    return element("td", "" if note is None else note.text, class_="part", style=style)


def _choice(number: int, *, pressed: bool) -> Markup:
    """The number of a line that has machine code; of them the chosen one is on the tab's way."""
    state = "true" if pressed else "false"
    way = None if pressed else "-1"
    return element("button", str(number), type="button", aria_pressed=state, tabindex=way)


def _gap(columns: int) -> Markup:
    return element("tr", element("td", ELLIPSIS, colspan=columns), class_="gap")


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
        return _gap(3)
    signs = [sign for sign, name in _KINDS.items() if name == kind]
    marks = [element("span", sign, class_="sign", role="img", aria_label=kind) for sign in signs]
    cell = element("td", *marks, element("code", text))
    return element("tr", _number(before), _number(after), cell, class_=kind)


def _number(line: int | None) -> Markup:
    return element("td", "" if line is None else str(line), class_="no")


def _source(titles: Iterable[str], rows: Iterable[Markup], look: str) -> Markup:
    head = element("thead", element("tr", *(element("th", each, scope="col") for each in titles)))
    return element("table", head, element("tbody", joined(rows)), class_=look)
