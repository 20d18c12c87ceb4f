"""A unified diff line by line, with the numbers of its lines on both sides."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from kernelprof.report.html.comparison_view import DiffLine
from kernelprof.report.names import printable
from kernelprof.report.numbers import count

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_HEAD: Final = ("--- ", "+++ ")
_HUNK: Final = re.compile(r"@@ -(\d{1,9})(?:,\d+)? \+(\d{1,9})(?:,\d+)? @@")


def diff_lines(diff: str) -> tuple[DiffLine, ...]:
    """The lines of a diff; only its first two can be names of files."""
    lines = diff.split("\n") if diff else []
    if len(lines) >= len(_HEAD) and all(map(str.startswith, lines, _HEAD)):
        lines = lines[len(_HEAD) :]
    return tuple(_numbered(lines))


def title(lines: Sequence[DiffLine]) -> str:
    """How much a diff changes: ``3 lines removed, 4 added``."""
    removed, added = (sum(each.kind == kind for each in lines) for kind in ("removed", "added"))
    return f"{count(removed, 'line')} removed, {added:,} added"


def _numbered(lines: Iterable[str]) -> Iterable[DiffLine]:
    before = after = 1
    first = True
    for raw in lines:
        line = printable(raw.expandtabs(4))
        hunk = _HUNK.match(line)
        if hunk is not None:
            before, after = int(hunk[1]), int(hunk[2])
            if not first:
                yield DiffLine("gap", None, None, "")
        elif line.startswith("-"):
            yield DiffLine("removed", before, None, line[1:])
            before += 1
        elif line.startswith("+"):
            yield DiffLine("added", None, after, line[1:])
            after += 1
        else:
            yield DiffLine("kept", before, after, line[1:])
            before, after = before + 1, after + 1
        first = False
