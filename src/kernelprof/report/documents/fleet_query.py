"""An answer of a store: one table."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from kernelprof.model.names import printable
from kernelprof.model.numbers import factor, number, quantity
from kernelprof.report.document import (
    Cell,
    Column,
    Document,
    Note,
    Paragraph,
    Section,
    Span,
    Table,
    Tone,
)
from kernelprof.report.documents.comparison import Detail
from kernelprof.report.private import shown, shown_origin, without_homes

if TYPE_CHECKING:
    from kernelprof.fleet.results import FleetTable, Heading
    from kernelprof.report.document import Block

_NUMBERS: Final = ("ns", "factor")
_COMMIT: Final = 9
_BRIEF: Final = {
    "parameters": "Sizes",
    "total_ns": "Time",
    "confidence": "Conf",
    "gain": "Gain",
    "saved_ns": "Saves",
    "variants": "N",
    "slowest": "Slowest",
    "verdict_before": "Was",
    "verdict": "Verdict",
}
"""Headings for little room."""
_OPTIONAL: Final = {
    "potential": {"name", "created", "confidence"},
    "regressions": {"name", "verdict_before", "verdict", "newest"},
    "sweep": {"name", "verdict", "second", "second_takes", "created"},
}
"""Columns of the usual questions that are left out where there is little room."""
_NOTHING: Final = "There is nothing to show."


def document(answer: FleetTable, detail: Detail = Detail.BRIEF) -> Document:
    """The table under its title; on a page with its data."""
    blocks = (*_warnings(answer), *blocks_of(answer))
    title = f"{answer.title}: {shown_origin(answer.store)}"
    if detail is not Detail.FULL:
        return Document(title, blocks)
    from kernelprof.report.writers import json

    section = Section(answer.title, blocks)
    data = without_homes(json.write(answer))
    return Document(title, (section,), data=data, file=f"fleet-{answer.question}.json")


def _warnings(answer: FleetTable) -> tuple[Block, ...]:
    return tuple(Note(Span(shown(each)), warning=True) for each in answer.warnings)


def blocks_of(answer: FleetTable) -> tuple[Block, ...]:
    """The table and its notes; a column in which nothing is known is left out."""
    known = [
        at
        for at in range(len(answer.columns))
        if answer.question == "sql" or any(row[at] not in (None, "") for row in answer.rows)
    ]
    if not answer.rows:
        return (Paragraph(_NOTHING, Tone.MUTED),)
    table = Table(
        tuple(_column(answer, at) for at in known),
        tuple(tuple(_cell(answer.columns[at], row[at]) for at in known) for row in answer.rows),
        label=answer.title,
        long=True,
    )
    return (table, *(Paragraph(Span(each), Tone.MUTED) for each in answer.notes))


def _column(answer: FleetTable, at: int) -> Column:
    heading = answer.columns[at]
    is_number = heading.unit in _NUMBERS or all(
        isinstance(row[at], int | float) for row in answer.rows if row[at] is not None
    )
    return Column(
        printable(heading.title or heading.name),
        brief=_BRIEF.get(heading.name, "") if heading.title else "",
        optional=heading.name in _OPTIONAL.get(answer.question, ()),
        number=is_number,
        yielding=not is_number and heading.unit != "date",
    )


def _cell(heading: Heading, value: Any) -> Cell:
    if value is None:
        return Cell("-")
    if isinstance(value, bool) or not isinstance(value, int | float):
        return Cell(Span(shown(printable(_text(heading, value)))))
    sort = float(value)
    if not math.isfinite(sort):
        return Cell("unknown")
    if heading.unit == "ns":
        return Cell(quantity(sort, "ns"), sort=sort)
    if heading.unit == "factor":
        return Cell(factor(sort), sort=sort)
    return Cell(number(sort), sort=sort)


def _text(heading: Heading, value: Any) -> str:
    if heading.unit == "date":
        return str(value).partition("T")[0]
    if heading.unit == "commit":
        return f"{value[:_COMMIT]}{'+' if value.endswith('+') else ''}"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return _without_quotes(str(value)) if str(value).startswith("{") else str(value)


def _without_quotes(text: str) -> str:
    """JSON of sizes and defines as people write them: ``K=4096 M=4096``."""
    import json

    parts = []
    for each in text.replace("} {", "}\n{").split("\n"):
        try:
            values = json.loads(each)
        except ValueError:
            return text
        parts += [f"{name}={value}" for name, value in values.items()]
    return " ".join(parts)
