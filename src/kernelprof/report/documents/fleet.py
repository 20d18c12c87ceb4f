"""Runs of a fleet's plan, what its store answers, and what is missing in it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from kernelprof.fleet.results import Done
from kernelprof.model.names import printable
from kernelprof.model.numbers import count, factor, number, quantity
from kernelprof.report.document import (
    Bullets,
    Cell,
    Column,
    Document,
    Fact,
    FactList,
    Note,
    Paragraph,
    Section,
    Span,
    Table,
    Tone,
)
from kernelprof.report.documents import write_data
from kernelprof.report.documents.comparison import Detail
from kernelprof.report.private import shown, shown_origin

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kernelprof.fleet.results import (
        FleetAnswer,
        FleetJob,
        FleetRun,
        FleetStatus,
        FleetTable,
        Heading,
        StoredRun,
    )
    from kernelprof.report.document import Block

WORDS: Final = {
    Done.MEASURED: "measured",
    Done.RECORDED: "recorded captures used",
    Done.DIAGNOSED: "captures diagnosed",
    Done.UNCHANGED: "unchanged and already stored",
    Done.SAME: "same machine code and launch as another job",
    Done.LEFT_OUT: "files left out (not captures)",
    Done.FAILED: "failed",
}
_TONES: Final = {Done.FAILED: Tone.BAD, Done.MEASURED: Tone.GOOD}
_COLUMNS: Final = (
    Column("Job", yielding=True),
    Column("GPU", optional=True),
    Column("Outcome"),
    Column("Why", yielding=True),
)


def document_of_run(run: FleetRun, detail: Detail = Detail.BRIEF) -> Document:
    """The counts, what failed and, where there is room, all jobs."""
    seconds = number(round(run.seconds, 1))
    headline = f"{run.stored:,} of {count(run.planned, 'job')} stored in {seconds} s"
    headline += f"; {run.open:,} did not finish." if run.open else "."
    blocks: list[Block] = [Paragraph(Span(headline), Tone.STRONG)]
    blocks += [Note(Span(shown(each)), warning=True) for each in run.warnings]
    if run.stopped is not None:
        text = f"Nothing more could be stored: {run.stopped}. The stored measurements are intact."
        blocks.append(Note(Span(shown(text)), warning=True))
    blocks.append(_run_facts(run))
    blocks += failed_jobs(run.jobs)
    if detail is Detail.FULL:
        blocks.append(Section("All jobs", (job_table(run.jobs),), folded=True))
    return _document(f"Plan {run.plan}", blocks, run, "fleet-run.json", detail)


def _document(
    title: str, blocks: Iterable[Block], answer: object, file: str, detail: Detail
) -> Document:
    """On a page with its data."""
    if detail is not Detail.FULL:
        return Document(title, tuple(blocks))

    return Document(title, tuple(blocks), data=write_data(answer), file=file)


def _run_facts(run: FleetRun) -> FactList:
    names = dict.fromkeys(run.devices)
    gpus = ", ".join(f"{run.devices.count(each)}x {each}" for each in names) or "none"
    items = [
        Fact(WORDS[each], (Span(f"{run.count(each):,}", _TONES.get(each, Tone.PLAIN)),))
        for each in Done
        if run.count(each)
    ]
    deaths = sum(each.deaths for each in run.jobs)
    if deaths:
        items.append(Fact("workers that died and were replaced", (f"{deaths:,}",)))
    items.append(Fact("GPUs", (Span(gpus),)))
    items.append(Fact("store", (Span(shown_origin(run.store)),)))
    return FactList(tuple(items))


def failed_jobs(jobs: tuple[FleetJob, ...]) -> list[Bullets]:
    """What failed, each with why; nothing where nothing did."""
    items = tuple(
        (Span(shown(each.job)), Span(f" on {each.gpu}" if each.gpu else ""), Span(f": {each.why}"))
        for each in jobs
        if each.done is Done.FAILED
    )
    return [Bullets(items)] if items else []


def job_table(jobs: tuple[FleetJob, ...]) -> Table:
    """All jobs, in the order in which they ended."""
    rows = tuple(
        (
            Cell(Span(shown(each.job))),
            Cell(Span(each.gpu)),
            Cell(Span(each.done.value, _TONES.get(each.done, Tone.PLAIN))),
            Cell(Span(shown(each.why))),
        )
        for each in jobs
    )
    return Table(_COLUMNS, rows, label="jobs", long=True)


_NUMBERS: Final = ("ns", "factor")
_COMMIT_DIGITS: Final = 9
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


def document_of_query(answer: FleetTable, detail: Detail = Detail.BRIEF) -> Document:
    """The table under its title; on a page with its data."""
    blocks = (
        *(Note(Span(shown(each)), warning=True) for each in answer.warnings),
        *blocks_of(answer),
    )
    title = f"{answer.title}: {shown_origin(answer.store)}"
    shown_blocks = (Section(answer.title, blocks),) if detail is Detail.FULL else blocks
    return _document(title, shown_blocks, answer, f"fleet-{answer.question}.json", detail)


def blocks_of(answer: FleetAnswer) -> tuple[Block, ...]:
    """The table and its notes; a column in which nothing is known is left out."""
    columns = [
        at
        for at in range(len(answer.columns))
        if answer.question == "sql" or any(row[at] not in (None, "") for row in answer.rows)
    ]
    if not answer.rows:
        return (Paragraph(_NOTHING, Tone.MUTED),)
    headings = tuple(_query_column(answer, at) for at in columns)
    rows = tuple(
        tuple(_query_cell(answer.columns[at], row[at]) for at in columns) for row in answer.rows
    )
    table = Table(headings, rows, label=answer.title, long=True)
    return (table, *(Paragraph(Span(each), Tone.MUTED) for each in answer.notes))


def _query_column(answer: FleetAnswer, at: int) -> Column:
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


def _query_cell(heading: Heading, value: Any) -> Cell:
    if value is None:
        return Cell("-")
    if isinstance(value, bool) or not isinstance(value, int | float):
        return Cell(Span(shown(printable(_query_text(heading, value)))))
    sort = float(value)
    if not math.isfinite(sort):
        return Cell("unknown")
    if heading.unit == "ns":
        return Cell(quantity(sort, "ns"), sort=sort)
    if heading.unit == "factor":
        return Cell(factor(sort), sort=sort)
    return Cell(number(sort), sort=sort)


def _query_text(heading: Heading, value: Any) -> str:
    if heading.unit == "date":
        return str(value).partition("T")[0]
    if heading.unit == "commit":
        return f"{value[:_COMMIT_DIGITS]}{'+' if value.endswith('+') else ''}"
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


_RUNS: Final = (
    Column("Run"),
    Column("Plan", yielding=True),
    Column("Seconds", number=True),
    Column("Outcome", yielding=True),
)
_MOST_MISSING: Final = 20


def document_of_status(status: FleetStatus, detail: Detail = Detail.BRIEF) -> Document:
    """What is stored, the newest runs, what is missing; the answers where they were asked for."""
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
    return _document(title, blocks, status, "fleet-status.json", detail)


def _runs(runs: tuple[StoredRun, ...]) -> list[Block]:
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
    if newest := failed_jobs(runs[0].failed):
        blocks += [Paragraph("Failed in the newest run:"), *newest]
    return blocks


def _counts(run: StoredRun) -> str:
    parts = [f"{amount:,} {name}" for name, amount in run.counts.items()]
    parts += ["interrupted"] if run.interrupted else []
    return ", ".join(parts) or "nothing"


def _missing(status: FleetStatus) -> list[Block]:
    lacking = status.missing or ()
    text = f"{count(status.planned or 0, 'job')}, {len(lacking):,} of them not stored."
    if status.recorded:
        text += f" Jobs with only recorded captures: {status.recorded:,}. To measure "
        text += "them, run the plan without --recorded."
    items = tuple(
        (Span(shown(each.job)), Span(f" on {each.gpu}" if each.gpu else ""))
        for each in lacking[:_MOST_MISSING]
    )
    blocks: list[Block] = [Paragraph(text), *([Bullets(items)] if items else [])]
    if len(lacking) > _MOST_MISSING:
        more = count(len(lacking) - _MOST_MISSING, "more job")
        blocks.append(Paragraph(f"And {more}.", Tone.MUTED))
    return blocks
