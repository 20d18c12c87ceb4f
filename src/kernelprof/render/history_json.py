"""The history as JSON, version 1: other people's scripts rely on its fields.

``kernelprof schema history`` prints the schema.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any, Final

import kernelprof
from kernelprof.render.history_words import summary

if TYPE_CHECKING:
    from kernelprof.model.comparison import CounterChange, TimeChange
    from kernelprof.model.history import History, KernelHistory, Moment, Row
    from kernelprof.model.snapshot import KernelSnapshot, Machine

SCHEMA_VERSION: Final = "1"

_Json = dict[str, Any]


def render_history_json(history: History) -> str:
    """The history as one JSON document."""
    return json.dumps(history_document(history), indent=2, allow_nan=False) + "\n"


def history_document(history: History) -> _Json:
    """The document as plain values."""
    return {
        "schema_version": SCHEMA_VERSION,
        "kind": "history",
        "tool": {"name": "kernelprof", "version": kernelprof.__version__},
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


def _row(row: Row) -> _Json:
    kernel = row.kernel
    return {
        **_moment(row.moment),
        "machine": _machine(row.moment.machine),
        **_measured(kernel),
        "low_ns": _finite(row.low_ns),
        "high_ns": _finite(row.high_ns),
        "compared_with": None if row.against is None else _moment(row.against),
        "time": None if row.time is None else _time(row.time),
        "verdict_changed": row.verdict_changed,
        "counters": [_counter(each) for each in row.counters],
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
        "sm_hz": _finite(machine.sm_hz),
    }


def _measured(kernel: KernelSnapshot) -> _Json:
    said = kernel.verdict
    return {
        "grid": None if kernel.grid is None else list(kernel.grid),
        "block": None if kernel.block is None else list(kernel.block),
        "launches": kernel.launches,
        "verdict": {
            "status": said.status,
            "bottleneck": said.bottleneck,
            "confidence": said.confidence,
            "also": list(said.also),
            "estimated_gain": _finite(said.gain),
        },
        "passed": kernel.passed,
        "source_sha256": None if kernel.inputs is None else kernel.inputs.source_sha256,
        "measured_by": measured_by(kernel),
        "samples": len(kernel.events_ns or kernel.profiled_ns),
        "median_ns": _finite(kernel.median_ns),
    }


def measured_by(kernel: KernelSnapshot) -> str | None:
    """What took the times that the median is of."""
    if kernel.events_ns:
        return "CUDA events"
    return "the profiler" if kernel.profiled_ns else None


def _time(time: TimeChange) -> _Json:
    before, after = time.samples
    return {
        "outcome": time.outcome.value,
        "measured_by": time.how,
        "before_ns": _finite(time.before_ns),
        "after_ns": _finite(time.after_ns),
        "ratio": _finite(time.ratio),
        "ratio_low": _finite(time.low),
        "ratio_high": _finite(time.high),
        "p": _finite(time.p),
        "noise_floor": _finite(time.floor),
        "noise_floor_from": time.floor_from,
        "samples": {"before": before, "after": after},
        "reason": time.reason,
    }


def _counter(change: CounterChange) -> _Json:
    return {
        "metric": change.metric,
        "label": change.label,
        "unit": change.unit,
        "before": _finite(change.before),
        "after": _finite(change.after),
        "worse": change.worse,
    }


def _finite(value: float | None) -> float | None:
    """JSON has neither NaN nor infinity: a number that is none is ``null``."""
    return value if value is not None and math.isfinite(value) else None
