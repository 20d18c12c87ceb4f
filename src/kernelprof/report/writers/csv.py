"""The history as CSV: one line a measurement, for spreadsheets and data frames."""

from __future__ import annotations

import csv
from io import StringIO
from typing import TYPE_CHECKING, Final

from kernelprof.model.names import printable
from kernelprof.model.numbers import dimensions
from kernelprof.report.writers import Writer

if TYPE_CHECKING:
    from kernelprof.model.history import History, HistoryRow, KernelHistory

COLUMNS: Final = (
    "kernel", "detail", "date", "origin", "commit", "subject", "gpu", "ncu", "clock_control",
    "grid", "block", "launches", "measured_by", "median_ns", "low_ns", "high_ns", "compared_with",
    "time_outcome", "time_ratio", "time_reason", "status", "bottleneck", "confidence",
    "verdict_changed", "counters_changed", "counters_worse", "passed", "accepted",
)  # fmt: skip
"""Columns are added at the end, never removed or given another meaning."""

_FORMULA: Final = ("=", "+", "-", "@")


def write(history: History) -> str:
    """A heading, then a line for each row of each kernel; what is not known is empty."""
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for kernel in history.kernels:
        for row in kernel.rows:
            writer.writerow(_cells(kernel, row))
    return text.getvalue()


WRITER: Final = Writer("csv", ".csv", write, kinds=("history",))


def _cells(kernel: KernelHistory, row: HistoryRow) -> list[object]:
    moment, measured, time = row.moment, row.kernel, row.time
    commit, verdict = moment.commit, measured.verdict
    return [
        _text(kernel.name),
        _text(kernel.detail),
        moment.date,
        _text(moment.origin),
        commit.sha if commit is not None else "",
        _text(commit.subject if commit is not None else None),
        _text(moment.machine.gpu),
        _text(moment.machine.ncu),
        _text(moment.machine.clock_control),
        dimensions(measured.grid) if measured.grid is not None else "",
        dimensions(measured.block) if measured.block is not None else "",
        measured.launches,
        measured.measured_by or "",
        measured.median_ns,
        row.low_ns,
        row.high_ns,
        row.against.date if row.against is not None else "",
        time.outcome.value if time is not None else "",
        time.ratio if time is not None else None,
        _text(time.reason if time is not None else None),
        _text(verdict.status),
        _text(verdict.bottleneck),
        _text(verdict.confidence),
        _flag(row.verdict_changed),
        len(row.counters),
        sum(each.worse is True for each in row.counters),
        "" if measured.passed is None else _flag(measured.passed),
        _text("; ".join(f"{each.who}: {each.reason}" for each in row.accepted)),
    ]


def _flag(value: bool) -> str:
    return "true" if value else "false"


def _text(text: str | None) -> str:
    """One line that no spreadsheet takes for a formula: anybody writes subjects of commits."""
    line = printable(text or "")
    return f"'{line}" if line.startswith(_FORMULA) else line
