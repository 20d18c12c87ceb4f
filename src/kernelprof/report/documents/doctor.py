"""What this machine has of what kernelprof can use, and how to get the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kernelprof.collect.doctor import first_command
from kernelprof.report.document import Cell, Column, Document, Paragraph, Span, Table, Tone

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kernelprof.collect.doctor import MachineCheck

_MARKS: Final = {
    True: Span("ok", Tone.GOOD),
    False: Span("missing", Tone.BAD),
    None: Span("unknown", Tone.OPEN),
}
_COLUMNS: Final = (Column("state"), Column("what"))


def document(checks: Sequence[MachineCheck]) -> Document:
    """A line a check, what a missing one stops and how to get it, and the first command to run."""
    rows = tuple(row for check in checks for row in _rows(check))
    start = Paragraph(("Start with: ", Span(first_command(checks), code=True)))
    return Document("This machine", (Table(_COLUMNS, rows, label="Checks", headings=False), start))


def _rows(check: MachineCheck) -> Iterable[tuple[Cell, ...]]:
    yield Cell(_MARKS[check.ok]), Cell(Span(f"{check.title}: {check.found}"))
    if check.ok is True:
        return
    yield Cell(""), Cell(Span(f"without it: {check.stops}"))
    first, *more = check.remedy.split("\n")
    yield Cell(""), Cell(Span(f"to get it: {first}"))
    for line in more:
        yield Cell(""), Cell(Span(line.strip()))
