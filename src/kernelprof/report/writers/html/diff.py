"""A unified diff line by line, with the numbers of its lines on both sides."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from kernelprof.model.names import printable
from kernelprof.report.writers.html.markup import element, joined

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kernelprof.report.writers.html.markup import Markup

_HEAD: Final = ("--- ", "+++ ")
_HUNK: Final = re.compile(r"@@ -(\d{1,9})(?:,\d+)? \+(\d{1,9})(?:,\d+)? @@")
_SIGNS: Final = {"removed": "-", "added": "+"}

Line = tuple[str, int | None, int | None, str]
"""What became of a line (``kept``, ``removed``, ``added``, ``gap`` between hunks), its number on
both sides, and its text."""


def diff_table(diff: str) -> Markup:
    """The lines of a diff; what became of each is said in words too."""
    titles = ("Before", "After", "Line")
    head = element("thead", element("tr", *(element("th", each, scope="col") for each in titles)))
    rows = [_row(*line) for line in lines(diff)]
    return element("table", head, element("tbody", joined(rows)), class_="source diff")


def lines(diff: str) -> Iterable[Line]:
    """The lines of a diff; only its first two can be names of files."""
    found = diff.split("\n") if diff else []
    if len(found) >= len(_HEAD) and all(map(str.startswith, found, _HEAD)):
        found = found[len(_HEAD) :]
    before = after = 1
    for position, raw in enumerate(found):
        line = printable(raw.expandtabs(4))
        hunk = _HUNK.match(line)
        if hunk is not None:
            before, after = int(hunk[1]), int(hunk[2])
            if position:
                yield "gap", None, None, ""
        elif line.startswith("-"):
            yield "removed", before, None, line[1:]
            before += 1
        elif line.startswith("+"):
            yield "added", None, after, line[1:]
            after += 1
        else:
            yield "kept", before, after, line[1:]
            before, after = before + 1, after + 1


def _row(kind: str, before: int | None, after: int | None, text: str) -> Markup:
    if kind == "gap":
        return element("tr", element("td", "…", colspan=3), class_=kind)
    sign = _SIGNS.get(kind)
    mark = []
    if sign is not None:
        mark.append(element("span", sign, class_="sign", role="img", aria_label=kind))
    numbers = [
        element("td", "" if each is None else str(each), class_="no") for each in (before, after)
    ]
    return element("tr", *numbers, element("td", *mark, element("code", text)), class_=kind)
