"""What a run of a plan did: how many jobs came to what, and each that failed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kernelprof.fleet.results import Done
from kernelprof.model.numbers import count, number
from kernelprof.report.document import (
    Bullets,
    Cell,
    Column,
    Document,
    Fact,
    Facts,
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
    from kernelprof.fleet.results import FleetRun, JobDone
    from kernelprof.report.document import Block

WORDS: Final = {
    Done.MEASURED: "measured",
    Done.RECORDED: "recorded captures taken",
    Done.DIAGNOSED: "captures diagnosed",
    Done.UNCHANGED: "unchanged, and stored already",
    Done.SAME: "the same as another job",
    Done.LEFT_OUT: "files left out, no captures",
    Done.FAILED: "failed",
}
_TONES: Final = {Done.FAILED: Tone.BAD, Done.MEASURED: Tone.GOOD}
_COLUMNS: Final = (
    Column("Job", yielding=True),
    Column("GPU", optional=True),
    Column("Outcome"),
    Column("Why", yielding=True),
)


def document(run: FleetRun, detail: Detail = Detail.BRIEF) -> Document:
    """The counts, what failed and, where there is room, all jobs."""
    title = f"Plan {run.plan}"
    blocks: list[Block] = [Paragraph(Span(_headline(run)), Tone.STRONG)]
    blocks += [Note(Span(shown(each)), warning=True) for each in run.warnings]
    if run.stopped is not None:
        text = f"Nothing more could be stored: {run.stopped}. What is stored is complete."
        blocks.append(Note(Span(shown(text)), warning=True))
    blocks.append(_facts(run))
    if failures := failed(run.jobs):
        blocks.append(failures)
    if detail is not Detail.FULL:
        return Document(title, tuple(blocks))
    from kernelprof.report.writers import json

    blocks.append(Section("All jobs", (table(run.jobs),), folded=True))
    data = without_homes(json.write(run))
    return Document(title, tuple(blocks), data=data, file="fleet-run.json")


def _headline(run: FleetRun) -> str:
    text = (
        f"{run.stored:,} of {count(run.planned, 'job')} stored in {number(round(run.seconds, 1))} s"
    )
    return f"{text}; {run.open:,} did not end." if run.open else f"{text}."


def _facts(run: FleetRun) -> Facts:
    names = dict.fromkeys(run.devices)
    gpus = ", ".join(f"{run.devices.count(each)}x {each}" for each in names) or "none"
    items = [
        Fact(WORDS[each], (Span(f"{run.count(each):,}", _TONES.get(each, Tone.PLAIN)),))
        for each in Done
        if run.count(each)
    ]
    deaths = sum(each.deaths for each in run.jobs)
    if deaths:
        items.append(Fact("workers that died, and were replaced", (f"{deaths:,}",)))
    items.append(Fact("GPUs", (Span(gpus),)))
    items.append(Fact("store", (Span(shown_origin(run.store)),)))
    return Facts(tuple(items))


def failed(jobs: tuple[JobDone, ...]) -> Bullets | None:
    """What failed, each with why; ``None`` where nothing did."""
    items = tuple(
        (Span(shown(each.job)), Span(f" on {each.gpu}" if each.gpu else ""), Span(f": {each.why}"))
        for each in jobs
        if each.done is Done.FAILED
    )
    return Bullets(items) if items else None


def table(jobs: tuple[JobDone, ...]) -> Table:
    """All jobs, in the order in which they ended."""
    return Table(
        _COLUMNS,
        tuple(
            (
                Cell(Span(shown(each.job))),
                Cell(Span(each.gpu)),
                Cell(Span(each.done.value, _TONES.get(each.done, Tone.PLAIN))),
                Cell(Span(shown(each.why))),
            )
            for each in jobs
        ),
        label="jobs",
        long=True,
    )
