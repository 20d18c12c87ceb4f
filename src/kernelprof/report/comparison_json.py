"""Comparisons and the gate's answer as JSON, version 1: other people's scripts rely on its fields.

``kernelprof schema comparison`` and ``kernelprof schema gate`` print the schemas.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from kernelprof.compare.words import headline, notes, reason, summary
from kernelprof.report import json_parts
from kernelprof.report.json_parts import finite

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kernelprof.model.comparison import (
        Comparison,
        CounterChange,
        InputChange,
        KernelComparison,
        MetricChange,
    )
    from kernelprof.model.gate import Finding, GateResult, KernelResult
    from kernelprof.model.snapshot import KernelSnapshot

SCHEMA_VERSION: Final = "1"

_Json = dict[str, Any]


def render_comparison_json(comparison: Comparison) -> str:
    """A comparison as one JSON document."""
    return json_parts.written(comparison_document(comparison))


def render_gate_json(result: GateResult) -> str:
    """The gate's answer, with the comparison that it judges, as one JSON document."""
    return json_parts.written(gate_document(result))


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
        "exit_code": int(result.exit_code),
        "reason": reason(result),
        "inconclusive_passes": result.inconclusive_passes,
        "findings": _findings(result.general),
        **_comparison(result.comparison),
        "kernels": [_judged(each) for each in result.kernels],
    }


def _head(kind: str) -> _Json:
    return {
        "schema_version": SCHEMA_VERSION,
        "kind": kind,
        "tool": json_parts.tool(),
    }


def _comparison(comparison: Comparison) -> _Json:
    return {
        "before": comparison.before.origin,
        "after": comparison.after.origin,
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
        "time": json_parts.time(kernel.time),
        "verdict_changed": kernel.verdict_changed,
        "other_work": kernel.other_work,
        "counters": [_counter(each) for each in kernel.counters],
        "lacking": list(kernel.lacking),
        "metrics": [_metric(each) for each in kernel.metrics],
        "inputs": [_input(each) for each in kernel.inputs],
        "notes": list(notes(kernel)),
        "diff": kernel.diff,
    }


def _side(side: KernelSnapshot) -> _Json:
    inputs = side.inputs
    return {
        "name": side.name,
        "grid": None if side.grid is None else list(side.grid),
        "block": None if side.block is None else list(side.block),
        "launches": side.launches,
        "verdict": json_parts.verdict(side.verdict),
        "median_ns": finite(side.median_ns),
        "events_ns": _times(side.events_ns),
        "profiled_ns": _times(side.profiled_ns),
        "passed": side.passed,
        "source": None if inputs is None else {"path": inputs.path, "sha256": inputs.source_sha256},
    }


def _times(times: Iterable[float]) -> list[float]:
    return [each for each in times if math.isfinite(each)]


def _counter(change: CounterChange) -> _Json:
    return {
        **json_parts.counter(change),
        "each": change.each,
        "before_each": finite(change.before_each),
        "after_each": finite(change.after_each),
    }


def _metric(change: MetricChange) -> _Json:
    return {
        "metric": change.metric,
        "unit": change.unit,
        "before": finite(change.before),
        "after": finite(change.after),
        "explains": finite(change.explains),
    }


def _input(change: InputChange) -> _Json:
    return {
        "kind": change.kind,
        "what": change.what,
        "before": change.before,
        "after": change.after,
    }
