"""A history: a table for each kernel, the oldest row first; on a page with a chart over dates."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Final

from kernelprof.comparison.history import words
from kernelprof.model.comparison import TimeOutcome
from kernelprof.model.diagnosis import Status
from kernelprof.model.history import History, HistoryOrigin, HistoryRow, KernelHistory
from kernelprof.model.names import cut_middle, printable
from kernelprof.report.charts.drawing import Key, tidy
from kernelprof.report.charts.times import HistoryPoint, verdict_looks
from kernelprof.report.document import (
    Block,
    Bullets,
    Cell,
    Chart,
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
from kernelprof.report.documents import TONES, write_data
from kernelprof.report.documents.change_tables import TIME_TONES
from kernelprof.report.documents.comparison import Detail
from kernelprof.report.figures.measured import finite
from kernelprof.report.private import shown, shown_origin

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


MOST_ROWS: Final = 5_000
"""Rows in all tables of a page together: more make it slow to open."""

LEAST_ROWS: Final = 10
LOG_FROM: Final = 8.0
"""How many times the shortest time the longest has to be for a logarithmic scale."""

_ORIGIN_WIDTH: Final = 64
_LEGEND: Final = (
    "Each time is the median of a capture's launches. A change is given as a number only if it is "
    "significant and larger than the noise. Changes are relative to the previous row on the same "
    "GPU."
)
_MARKS: Final = (
    ("▲", "slower"),
    ("▼", "faster than the row before"),
    (words.SAME, "within the noise"),
    (words.UNDECIDED, "undecided: too few launches or too much scatter"),
)
_MACHINE: Final = (
    ("GPU", "gpu"),
    ("driver", "driver"),
    ("CUDA", "cuda"),
    ("Nsight Compute", "ncu"),
    ("clock control", "clock_control"),
)
_OVERVIEW: Final = (
    Column("Kernel"),
    Column("Newest time", number=True),
    Column("Newest verdict"),
    Column("What happened"),
)


def document(history: History, detail: Detail = Detail.BRIEF) -> Document:
    """All kernels, those that take most time first."""
    full = detail is Detail.FULL
    blocks: list[Block] = [Paragraph(Span(f"{words.overview(history)} (UTC)."), Tone.STRONG)]
    blocks += [Note(Span(shown(note)), warning=True) for note in history.notes]
    if full:
        blocks.append(Note(_LEGEND))
    if full and len(history.kernels) > 1:
        blocks.append(_overview(history))
    rows = [row for kernel in history.kernels for row in kernel.rows]
    verdicts = (words.verdict_cell(row.kernel.verdict) for row in rows)
    looks = verdict_looks(verdicts, Status.INCONCLUSIVE.value) if full else {}
    blocks += [
        _kernel(history, kernel, f"kernel-{number}", detail, looks)
        for number, kernel in enumerate(history.kernels, start=1)
    ]
    if legend := _legend(history):
        blocks.append(Note(legend) if full else Paragraph(legend, Tone.MUTED))
    if not full:
        return Document(f"History of {history.origin}", tuple(blocks))

    blocks.append(Section("Where this comes from", (FactList(tuple(_provenance(history, rows))),)))
    return Document(
        f"History of {shown_origin(history.origin)}",
        tuple(blocks),
        data=write_data(history),
        file="history.json",
    )


def _overview(history: History) -> Section:
    rows = []
    for number, kernel in enumerate(history.kernels, start=1):
        newest = kernel.rows[-1]
        time, verdict = finite(newest.kernel.median_ns), newest.kernel.verdict
        title = Span(shown(words.title(kernel)), target=f"kernel-{number}")
        rows.append(
            (
                Cell(title, tip=shown(kernel.name)),
                Cell(words.time_cell(newest), sort=-1.0 if time is None else time),
                Cell(Span(words.verdict_cell(verdict), TONES[verdict.status])),
                Cell(Span(shown(words.summary(kernel)))),
            )
        )
    table = Table(_OVERVIEW, tuple(rows), label="kernels", long=True)
    return Section("Kernels", (table,), anchor="kernels")


def _kernel(
    history: History, kernel: KernelHistory, anchor: str, detail: Detail, looks: Mapping[str, Key]
) -> Section:
    title = (
        shown(words.title(kernel)) if looks else cut_middle(words.title(kernel), 4 * _ORIGIN_WIDTH)
    )
    summary = Span(f"{shown(words.summary(kernel))}.")
    is_quiet = bool(looks) and words.is_quiet(kernel)
    blocks: list[Block] = [] if is_quiet else [Paragraph(summary)]
    if looks:
        blocks += _chart(kernel, title, looks)
    most = max(LEAST_ROWS, MOST_ROWS // len(history.kernels))
    blocks.append(_table(history, kernel, most, brief=detail is Detail.BRIEF))
    if len(kernel.rows) > most:
        text = f"The newest {most} of {len(kernel.rows)} rows are shown; the JSON has all rows."
        blocks.append(Paragraph(text, Tone.MUTED))
    remarks = [
        Span(f"{date}: {shown(note)}")
        for date, row in zip(words.dates(kernel.rows), kernel.rows, strict=True)
        for note in words.notes(row)
    ]
    blocks.append(Bullets(tuple(remarks)))
    blocks += [Paragraph(Span(shown(each)), Tone.MUTED) for each in words.reasons(kernel)]
    return Section(
        Span(title, code=not looks),
        tuple(blocks),
        anchor=anchor if looks else "",
        folded=is_quiet,
        summary=summary if is_quiet else "",
    )


def _chart(kernel: KernelHistory, title: str, looks: Mapping[str, Key]) -> list[Block]:
    dates = words.dates(kernel.rows)
    points = [_point(each, dates[at], looks, first=at == 0) for at, each in enumerate(kernel.rows)]
    rows = list(filter(None, points))
    if not rows:
        return []
    times = [time for row in rows for time in (row.low, row.time, row.high)]
    is_log = min(times) > 0 and max(times) / min(times) > LOG_FROM
    label = f"Median time of {title} by date, with verdicts; the table below has the same data"
    text = (
        "Each point is the median time of a measurement; its bar spans 90 % of the launches. "
        "Dashed lines mark where the verdict changed."
    )
    if len(words.machines(kernel)) > 1:
        text += " Lines join measurements on the same GPU."
    return [Chart("history:log" if is_log else "history", tuple(rows), label), Note(text)]


def _point(
    row: HistoryRow, when: str, looks: Mapping[str, Key], *, first: bool
) -> HistoryPoint | None:
    time = finite(row.kernel.median_ns)
    if time is None:
        return None
    look, gpu = looks[words.verdict_cell(row.kernel.verdict)], shown(words.gpu(row))
    change = words.change_cell(row, first=first) or "-"
    facts = {
        "When (UTC)": when,
        "From": " ".join(_origin(row)),
        "Time": words.time_cell(row),
        "90 % of the launches": words.launch_text(row) or "-",
        "Change": change,
        "Verdict": look.words,
        "Confidence": row.kernel.verdict.confidence.value,
        "Changed counters": words.counters_cell(row) or "0",
        "GPU": gpu,
        "Remarks": shown("; ".join(words.notes(row))) or "-",
    }
    return HistoryPoint(
        1000 * datetime.fromisoformat(row.moment.date).timestamp(),
        tidy(time * 1e-9),
        tidy((finite(row.low_ns) or time) * 1e-9),
        tidy((finite(row.high_ns) or time) * 1e-9),
        gpu=gpu,
        look=look,
        change=change,
        changed=row.verdict_changed,
        title="\n".join(f"{label}: {text}" for label, text in facts.items()),
    )


def _table(history: History, kernel: KernelHistory, most: int, *, brief: bool) -> Table:
    several = len(words.machines(kernel)) > 1
    is_git = history.source is HistoryOrigin.GIT
    columns = [
        Column("date"),
        Column("commit") if is_git else Column("capture", yielding=True, optional=True),
        Column("time", number=True),
        Column("change"),
        Column("verdict", yielding=not is_git),
        Column("confidence", brief="conf", optional=True),
        Column("counters", number=True, optional=True),
        *([Column("GPU", optional=True)] if several else []),
        *([Column("subject", yielding=brief)] if is_git else []),
    ]
    dates = words.dates(kernel.rows)
    rows = []
    for at, row in enumerate(kernel.rows):
        verdict, interval = row.kernel.verdict, words.launch_text(row)
        outcome = TimeOutcome.NOT_MEASURED if row.time is None else row.time.outcome
        tone = TIME_TONES.get(outcome, Tone.PLAIN)
        cells = [
            Cell(dates[at]),
            Cell(Span(cut_middle(_origin(row)[0], _ORIGIN_WIDTH), code=True)),
            Cell(words.time_cell(row), tip=f"90 % of the launches: {interval}" if interval else ""),
            Cell(Span(words.change_cell(row, first=at == 0), tone)),
            Cell(Span(words.verdict_cell(verdict), TONES[verdict.status], code=True)),
            Cell(verdict.confidence.value),
            Cell(words.counters_cell(row), tip=", ".join(each.label for each in row.counters)),
        ]
        cells += [Cell(Span(shown(words.gpu(row))))] if several else []
        cells += [Cell(Span(" ".join(_origin(row)[1:])))] if is_git else []
        rows.append(tuple(cells))
    return Table(tuple(columns), tuple(rows[-most:]), label=f"rows of {shown(words.title(kernel))}")


def _origin(row: HistoryRow) -> list[str]:
    """The capture, or the commit and its subject."""
    commit = row.moment.commit
    parts = [row.moment.origin]
    if commit is not None:
        parts = [row.moment.origin.partition(":")[0], commit.subject]
    return [shown(printable(each)) for each in parts]


def _legend(history: History) -> str:
    used = {
        words.change_cell(row, first=at == 0).partition(" ")[0]
        for kernel in history.kernels
        for at, row in enumerate(kernel.rows)
    }
    return ", ".join(f"{mark} {meaning}" for mark, meaning in _MARKS if mark in used)


def _provenance(history: History, rows: Iterable[HistoryRow]) -> Iterable[Fact]:
    """What was read, and on what it was measured."""
    machines = [row.moment.machine for row in rows]
    yield Fact("read from", (Span(shown_origin(history.origin)),))
    yield Fact("rows from", (words.period(history),), "UTC")
    for label, name in _MACHINE:
        values = dict.fromkeys(getattr(each, name) for each in machines)
        if text := ", ".join(filter(None, values)):
            yield Fact(label, (Span(shown(text)),))
