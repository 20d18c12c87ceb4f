"""The history as JSON, version 1: other people's scripts rely on its fields.

``kernelprof schema history`` prints the schema.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from kernelprof.compare.history.words import summary
from kernelprof.compare.times import EVENTS, PROFILER
from kernelprof.report import json_parts
from kernelprof.report.json_parts import finite

if TYPE_CHECKING:
    from kernelprof.model.history import History, HistoryRow, KernelHistory, Moment
    from kernelprof.model.snapshot import KernelSnapshot, Machine

SCHEMA_VERSION: Final = "1"

_Json = dict[str, Any]


def render_history_json(history: History) -> str:
    """The history as one JSON document."""
    return json_parts.written(history_document(history))


def history_document(history: History) -> _Json:
    """The document as plain values."""
    return {
        "schema_version": SCHEMA_VERSION,
        "kind": "history",
        "tool": json_parts.tool(),
        "origin": history.origin,
        "source": history.source.value,
        "moments": history.moments,
        "notes": list(history.notes),
        "kernels": [_kernel(each) for each in history.kernels],
    }


def _kernel(kernel: KernelHistory) -> _Json:
    return {
        "name": kernel.name,
        "detail": kernel.detail,
        "summary": summary(kernel),
        "older": kernel.older,
        "rows": [_row(each) for each in kernel.rows],
    }


def _row(row: HistoryRow) -> _Json:
    kernel = row.kernel
    return {
        **_moment(row.moment),
        "machine": _machine(row.moment.machine),
        **_measured(kernel),
        "low_ns": finite(row.low_ns),
        "high_ns": finite(row.high_ns),
        "compared_with": None if row.against is None else _moment(row.against),
        "time": None if row.time is None else json_parts.time(row.time),
        "verdict_changed": row.verdict_changed,
        "counters": [json_parts.counter(each) for each in row.counters],
        "lacking": list(row.lacking),
        "accepted": [
            {"when": each.when, "who": each.who, "reason": each.reason} for each in row.accepted
        ],
    }


def _moment(moment: Moment) -> _Json:
    commit = moment.commit
    return {
        "date": moment.date,
        "origin": moment.origin,
        "kind": moment.kind,
        "commit": None if commit is None else {"sha": commit.sha, "subject": commit.subject},
    }


def _machine(machine: Machine) -> _Json:
    return {
        "gpu": machine.gpu,
        "compute_capability": machine.compute_capability,
        "driver": machine.driver,
        "cuda": machine.cuda,
        "ncu": machine.ncu,
        "clock_control": machine.clock_control,
        "sm_hz": finite(machine.sm_hz),
    }


def _measured(kernel: KernelSnapshot) -> _Json:
    return {
        "grid": None if kernel.grid is None else list(kernel.grid),
        "block": None if kernel.block is None else list(kernel.block),
        "launches": kernel.launches,
        "verdict": json_parts.verdict(kernel.verdict),
        "passed": kernel.passed,
        "source_sha256": None if kernel.inputs is None else kernel.inputs.source_sha256,
        "measured_by": measured_by(kernel),
        "samples": len(kernel.events_ns or kernel.profiled_ns),
        "median_ns": finite(kernel.median_ns),
    }


def measured_by(kernel: KernelSnapshot) -> str | None:
    """What took the times that the median is of."""
    if kernel.events_ns:
        return EVENTS
    return PROFILER if kernel.profiled_ns else None
