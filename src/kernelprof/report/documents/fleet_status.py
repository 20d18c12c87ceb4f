"""What a store has, and what its runs did; on a page also answers to the usual questions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kernelprof.model.numbers import count, number
from kernelprof.report.document import (
    Bullets,
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
from kernelprof.report.documents.fleet_query import blocks_of
from kernelprof.report.documents.fleet_run import failed
from kernelprof.report.private import shown, shown_origin, without_homes

if TYPE_CHECKING:
    from kernelprof.fleet.results import FleetStatus, RunKept
    from kernelprof.report.document import Block

_RUNS: Final = (
    Column("Run"),
    Column("Plan", yielding=True),
    Column("Seconds", number=True),
    Column("Outcome", yielding=True),
)
_MOST_MISSING: Final = 20


def document(status: FleetStatus, detail: Detail = Detail.BRIEF) -> Document:
    """What is stored, the newest runs, what is missing; the answers where they were asked for."""
    full = detail is Detail.FULL
    blocks: list[Block] = [Note(Span(shown(each)), warning=True) for each in status.warnings]
    blocks += [
        Section(each.title, blocks_of(each), anchor=each.question) for each in status.answers
    ]
    blocks.append(Section(status.holdings.title, blocks_of(status.holdings), anchor="holdings"))
    if status.runs:
        blocks.append(Section("Newest runs", tuple(_runs(status.runs)), anchor="runs"))
    if status.missing is not None:
        blocks.append(Section("The plan", tuple(_missing(status)), anchor="plan"))
    title = f"Fleet: {shown_origin(status.store)}"
    if not full:
        return Document(title, tuple(blocks))
    from kernelprof.report.writers import json

    data = without_homes(json.write(status))
    return Document(title, tuple(blocks), data=data, file="fleet-status.json")


def _runs(runs: tuple[RunKept, ...]) -> list[Block]:
    rows = tuple(
        (
            Cell(Span(each.started)),
            Cell(Span(each.plan)),
            Cell(number(round(each.seconds, 1)), sort=each.seconds),
            Cell(Span(_counts(each), Tone.BAD if each.failed else Tone.PLAIN)),
        )
        for each in runs
    )
    blocks: list[Block] = [Table(_RUNS, rows, label="runs")]
    newest = failed(runs[0].failed)
    if newest is not None:
        blocks += [Paragraph("Failed in the newest run:"), newest]
    return blocks


def _counts(run: RunKept) -> str:
    parts = [f"{amount:,} {name}" for name, amount in run.counts.items()]
    parts += ["interrupted"] if run.interrupted else []
    return ", ".join(parts) or "nothing"


def _missing(status: FleetStatus) -> list[Block]:
    lacking = status.missing or ()
    text = f"{count(status.planned or 0, 'job')}, {len(lacking):,} of them not stored."
    if status.recorded:
        text += (
            f" Of {status.recorded:,} only recorded captures are stored: a run without --recorded "
            "measures them."
        )
    items = tuple(
        (Span(shown(each.job)), Span(f" on {each.gpu}" if each.gpu else ""))
        for each in lacking[:_MOST_MISSING]
    )
    blocks: list[Block] = [Paragraph(text), *([Bullets(items)] if items else [])]
    if len(lacking) > _MOST_MISSING:
        blocks.append(Paragraph(f"And {len(lacking) - _MOST_MISSING:,} more.", Tone.MUTED))
    return blocks
