"""Comparisons and the gate's answer as JSON, version 1: other people's scripts rely on its fields.

``kernelprof schema comparison`` and ``kernelprof schema gate`` print the schemas.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any, Final

import kernelprof
from kernelprof.compare.words import headline, summary
from kernelprof.gate.answer import exit_code, reason

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kernelprof.model.comparison import (
        Comparison,
        CounterChange,
        InputChange,
        KernelComparison,
        MetricChange,
        TimeChange,
    )
    from kernelprof.model.gate import Finding, GateResult, KernelResult
    from kernelprof.model.snapshot import KernelSnapshot

SCHEMA_VERSION: Final = "1"

_Json = dict[str, Any]


def render_comparison_json(comparison: Comparison) -> str:
    """A comparison as one JSON document."""
    return _written(comparison_document(comparison))


def render_gate_json(result: GateResult) -> str:
    """The gate's answer, with the comparison that it judges, as one JSON document."""
    return _written(gate_document(result))


def comparison_document(comparison: Comparison) -> _Json:
    """The document of a comparison as plain values."""
    return {
        **_head("comparison"),
        **_comparison(comparison),
        "kernels": [_kernel(each) for each in comparison.kernels],
    }


def gate_document(result: GateResult) -> _Json:
    """The document of the gate as plain values; kernels that decide come first."""
    return {
        **_head("gate"),
        "outcome": result.outcome.value,
        "exit_code": int(exit_code(result)),
        "reason": reason(result),
        "inconclusive_passes": result.inconclusive_passes,
        "findings": _findings(result.general),
        **_comparison(result.comparison),
        "kernels": [_judged(each) for each in result.kernels],
    }


def _written(document: _Json) -> str:
    return json.dumps(document, indent=2, allow_nan=False) + "\n"


def _head(kind: str) -> _Json:
    return {
        "schema_version": SCHEMA_VERSION,
        "kind": kind,
        "tool": {"name": "kernelprof", "version": kernelprof.__version__},
    }


def _comparison(comparison: Comparison) -> _Json:
    return {
        "before": comparison.before,
        "after": comparison.after,
        "summary": summary(comparison),
        "times_comparable": comparison.times_comparable,
        "machine": [_input(each) for each in comparison.machine],
        "notes": list(comparison.notes),
    }


def _judged(result: KernelResult) -> _Json:
    return {
        **_kernel(result.kernel),
        "outcome": result.outcome.value,
        "findings": _findings(result.findings),
    }


def _findings(findings: Iterable[Finding]) -> list[_Json]:
    return [
        {"code": each.code.value, "outcome": each.outcome.value, "text": each.text}
        for each in findings
    ]


def _kernel(kernel: KernelComparison) -> _Json:
    return {
        "name": kernel.name,
        "match": kernel.match.value,
        "summary": headline(kernel),
        "before": None if kernel.before is None else _side(kernel.before),
        "after": None if kernel.after is None else _side(kernel.after),
        "time": _time(kernel.time),
        "verdict_changed": kernel.verdict_changed,
        "other_work": kernel.other_work,
        "counters": [_counter(each) for each in kernel.counters],
        "lacking": list(kernel.lacking),
        "metrics": [_metric(each) for each in kernel.metrics],
        "inputs": [_input(each) for each in kernel.inputs],
        "notes": list(kernel.notes),
        "diff": kernel.diff,
    }


def _side(side: KernelSnapshot) -> _Json:
    said, inputs = side.verdict, side.inputs
    return {
        "name": side.name,
        "grid": None if side.grid is None else list(side.grid),
        "block": None if side.block is None else list(side.block),
        "launches": side.launches,
        "verdict": {
            "status": said.status,
            "bottleneck": said.bottleneck,
            "confidence": said.confidence,
            "also": list(said.also),
            "estimated_gain": _finite(said.gain),
        },
        "median_ns": _finite(side.median_ns),
        "events_ns": _times(side.events_ns),
        "profiled_ns": _times(side.profiled_ns),
        "passed": side.passed,
        "source": None if inputs is None else {"path": inputs.path, "sha256": inputs.source_sha256},
    }


def _times(times: Iterable[float]) -> list[float]:
    return [each for each in times if math.isfinite(each)]


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
        "each": change.each,
        "before_each": _finite(change.before_each),
        "after_each": _finite(change.after_each),
    }


def _metric(change: MetricChange) -> _Json:
    return {
        "metric": change.metric,
        "unit": change.unit,
        "before": _finite(change.before),
        "after": _finite(change.after),
        "explains": _finite(change.explains),
    }


def _input(change: InputChange) -> _Json:
    return {
        "kind": change.kind,
        "what": change.what,
        "before": change.before,
        "after": change.after,
    }


def _finite(value: float | None) -> float | None:
    """JSON has neither NaN nor infinity: a number that is none is ``null``."""
    return value if value is not None and math.isfinite(value) else None
