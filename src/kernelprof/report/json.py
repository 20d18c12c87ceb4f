"""The JSON output, version 1: other people's scripts rely on its fields.

The schema is :func:`schema`; ``kernelprof schema`` prints it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from kernelprof.report import json_parts, schemas
from kernelprof.report.json_parts import finite
from kernelprof.report.numbers import relation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernelprof.model.diagnosis import (
        Candidate,
        Diagnosis,
        Evidence,
        KernelDiagnosis,
        Spread,
        Verdict,
    )

SCHEMA_VERSION = "1"

_Json = dict[str, Any]


def render_json(diagnoses: Sequence[Diagnosis]) -> str:
    """All diagnoses as one JSON document, kernels in the order of the captures."""
    return json_parts.written(document(diagnoses))


def schema() -> str:
    """The published JSON Schema of the document."""
    return schemas.schema("diagnosis")


def document(diagnoses: Sequence[Diagnosis]) -> _Json:
    """The document as plain values."""
    return {
        "schema_version": SCHEMA_VERSION,
        "tool": json_parts.tool(),
        "captures": [_capture(diagnosis) for diagnosis in diagnoses],
        "kernels": [
            _kernel(kernel, diagnosis.origin)
            for diagnosis in diagnoses
            for kernel in diagnosis.kernels
        ],
    }


def _capture(diagnosis: Diagnosis) -> _Json:
    return {
        "origin": diagnosis.origin,
        "launches": diagnosis.launches,
        "preset": diagnosis.preset,
        "warnings": list(diagnosis.warnings),
    }


def _kernel(kernel: KernelDiagnosis, origin: str) -> _Json:
    capability = kernel.compute_capability
    return {
        "ids": list(kernel.ids),
        "name": kernel.name,
        "grid": None if kernel.grid is None else list(kernel.grid),
        "block": None if kernel.block is None else list(kernel.block),
        "launches": kernel.launches,
        "duration_ns": None if kernel.duration_ns is None else _spread(kernel.duration_ns),
        "share": finite(kernel.share),
        "device": kernel.device,
        "compute_capability": None if capability is None else f"{capability[0]}.{capability[1]}",
        "origin": origin,
        "verdict": _verdict(kernel.verdict),
    }


def _spread(spread: Spread) -> _Json:
    return {
        "median": finite(spread.median),
        "min": finite(spread.low),
        "max": finite(spread.high),
    }


def _verdict(verdict: Verdict) -> _Json:
    return {
        "status": verdict.status.value,
        "bottleneck": verdict.bottleneck,
        "confidence": verdict.confidence.value,
        "also": [candidate.bottleneck for candidate in verdict.also],
        "estimated_gain": finite(verdict.gain),
        "evidence": [_evidence(each) for each in verdict.evidence if math.isfinite(each.value)],
        "missing": list(dict.fromkeys(each.ncu_name for each in verdict.missing)),
        "command": verdict.command,
        "why": verdict.why,
        "advice": list(verdict.advice),
        "gain_reason": verdict.gain_reason,
        "next_limit": finite(verdict.next_limit),
        "gain_if_halved": finite(verdict.gain_if_halved),
        "candidates": [_candidate(candidate) for candidate in verdict.also],
        "notes": list(verdict.notes),
        "missing_metrics": [
            {"metric": each.metric, "ncu_name": each.ncu_name, "why": each.why}
            for each in verdict.missing
        ],
    }


def _evidence(evidence: Evidence) -> _Json:
    return {
        "metric": evidence.metric,
        "label": evidence.label,
        "value": evidence.value,
        "unit": evidence.unit,
        "op": relation(evidence),
        "threshold": finite(evidence.threshold),
        "source": evidence.source.value,
    }


def _candidate(candidate: Candidate) -> _Json:
    return {
        "bottleneck": candidate.bottleneck,
        "gain_at_least": finite(candidate.gain_at_least),
        "gain_at_most": finite(candidate.gain_at_most),
    }
