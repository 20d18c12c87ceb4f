"""The history's page: a chart and a table for each kernel."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import kernelprof
from kernelprof.model.diagnosis import Status
from kernelprof.model.history import Source
from kernelprof.report import history_words as words
from kernelprof.report.html import charts
from kernelprof.report.html.build.measured import finite
from kernelprof.report.html.build.private import shown, shown_origin, without_homes
from kernelprof.report.html.charts import history as chart
from kernelprof.report.html.page import fill
from kernelprof.report.html.view import Fact
from kernelprof.report.writers.json import write as write_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kernelprof.model.history import History, KernelHistory, Row
    from kernelprof.report.html.charts.history import Symbol

MOST_ROWS: Final = 5_000
"""Rows in all tables of a page together: more make it slow to open."""

LEAST_ROWS: Final = 10


@dataclass(frozen=True, slots=True)
class RowView:
    """A measurement as the page shows it."""

    date: str
    when: str
    origin: str
    """The capture, or the commit with its subject."""
    short: str
    """The capture, or the commit without it."""
    time_ns: float | None
    low_ns: float | None
    high_ns: float | None
    time: str
    interval: str
    change: str
    outcome: str
    status: str
    verdict: str
    changed: bool
    """Whether the verdict is another one than before."""
    confidence: str
    counters: str
    counter_names: str
    gpu: str
    remarks: str


@dataclass(frozen=True, slots=True)
class KernelView:
    """A kernel's section. ``table`` are the rows of its table, which may lack older ones."""

    anchor: str
    title: str
    full_name: str
    summary: str
    kind: str
    """The name of its chart, empty where no time is known."""
    rows: tuple[RowView, ...]
    table: tuple[RowView, ...]
    symbols: tuple[Symbol, ...]
    several: bool
    """Whether its rows are of several GPUs."""
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class HistoryPage:
    """The page of a history."""

    title: str
    headline: str
    kernels: tuple[KernelView, ...]
    looks: Mapping[str, Symbol]
    source: str
    """What a row comes from: ``Commit`` or ``Capture``."""
    provenance: tuple[Fact, ...]
    warnings: tuple[str, ...]
    made: str
    json: str
    commands: tuple[str, ...] = ()


def render_history_page(history: History) -> str:
    """The page; every text of it is escaped."""
    page = build_history_page(history)
    return fill("history.html.j2", page=page, stored=[], views=_views(page))


def build_history_page(history: History) -> HistoryPage:
    """Everything that the page shows."""
    verdicts = [
        words.verdict_cell(row.kernel.verdict) for kernel in history.kernels for row in kernel.rows
    ]
    looks = chart.symbols(verdicts, Status.INCONCLUSIVE.value)
    most = max(LEAST_ROWS, MOST_ROWS // len(history.kernels))
    return HistoryPage(
        title=f"History of {shown_origin(history.origin)}",
        headline=f"{words.overview(history)}.",
        kernels=tuple(
            _kernel(kernel, number, looks, most)
            for number, kernel in enumerate(history.kernels, start=1)
        ),
        looks=looks,
        source="Commit" if history.source is Source.GIT else "Capture",
        provenance=tuple(_provenance(history)),
        warnings=tuple(shown(note) for note in history.notes),
        made=f"Made by kernelprof {kernelprof.__version__}",
        json=without_homes(write_json(history)),
    )


def _kernel(
    kernel: KernelHistory, number: int, looks: Mapping[str, Symbol], most: int
) -> KernelView:
    dates = words.dates(kernel.rows)
    rows = tuple(
        _row(row, dates[position], first=position == 0) for position, row in enumerate(kernel.rows)
    )
    return KernelView(
        anchor=f"kernel-{number}",
        title=shown(words.title(kernel)),
        full_name=shown(kernel.name),
        summary=shown(words.summary(kernel)),
        kind=chart.kind(rows),
        rows=rows,
        table=rows[-most:],
        symbols=tuple(looks[verdict] for verdict in dict.fromkeys(each.verdict for each in rows)),
        several=len(words.machines(kernel)) > 1,
        reasons=tuple(shown(each) for each in words.reasons(kernel)),
    )


def _row(row: Row, when: str, *, first: bool) -> RowView:
    commit, said = row.moment.commit, row.kernel.verdict
    short = row.moment.origin if commit is None else commit.short
    return RowView(
        date=row.moment.date,
        when=when,
        origin=shown(short if commit is None else f"{short} {commit.subject}"),
        short=shown(short),
        time_ns=finite(row.kernel.median_ns),
        low_ns=finite(row.low_ns),
        high_ns=finite(row.high_ns),
        time=words.time_cell(row),
        interval=words.launch_text(row),
        change=words.change_cell(row, first=first),
        outcome="" if row.time is None else row.time.outcome.value,
        status=said.status,
        verdict=words.verdict_cell(said),
        changed=row.verdict_changed,
        confidence=shown(said.confidence),
        counters=words.counters_cell(row),
        counter_names=", ".join(each.label for each in row.counters),
        gpu=shown(words.gpu(row)),
        remarks=shown("; ".join(words.remarks(row))),
    )


def _provenance(history: History) -> Iterable[Fact]:
    """What was read, and on what it was measured."""
    machines = [row.moment.machine for kernel in history.kernels for row in kernel.rows]
    yield Fact("read from", shown_origin(history.origin))
    yield Fact("rows from", words.period(history), "UTC")
    for label, values in (
        ("GPU", [each.gpu for each in machines]),
        ("driver", [each.driver for each in machines]),
        ("CUDA", [each.cuda for each in machines]),
        ("Nsight Compute", [each.ncu for each in machines]),
        ("clock control", [each.clock_control for each in machines]),
    ):
        known = list(dict.fromkeys(value for value in values if value))
        if known:
            yield Fact(label, shown(", ".join(known)))


def _views(page: HistoryPage) -> str:
    """What the script needs: each chart's specification once, then the rows by kernel."""
    kinds = sorted({kernel.kind for kernel in page.kernels if kernel.kind})
    views = {
        "config": charts.CONFIG,
        "specs": {kind: chart.chart(kind, origin=page.source) for kind in kinds},
        "tables": {},
        "tips": {},
        "page": {},
        "metrics": [],
        "kernels": [_drawn(kernel.rows, kernel.kind, page.looks) for kernel in page.kernels],
    }
    return json.dumps(views, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def _drawn(rows: Sequence[RowView], kind: str, looks: Mapping[str, Symbol]) -> dict[str, object]:
    return {"charts": {kind: chart.rows(rows, looks)} if kind else {}, "metrics": []}
