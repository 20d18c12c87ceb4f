"""Results as JSON, as :mod:`kernelprof.report.contract` has it."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

import msgspec

from kernelprof.model.numbers import relation
from kernelprof.report import contract
from kernelprof.report import contract_changes as changes
from kernelprof.report.writers import Writer
from kernelprof.resources import VERSION

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from kernelprof.collect.doctor import Check
    from kernelprof.model.comparison import Comparison, KernelComparison, TimeChange
    from kernelprof.model.diagnosis import Diagnosis, KernelDiagnosis, Verdict
    from kernelprof.model.gate import GateResult, KernelResult
    from kernelprof.model.history import History, HistoryRow, KernelHistory, Moment
    from kernelprof.model.snapshot import KernelSnapshot

Struct = TypeVar("Struct", bound=msgspec.Struct)
Known = TypeVar("Known")
Made = TypeVar("Made")


def write(result: Any, kind: str = "") -> str:
    """A result as one JSON document; what is no finite number in it is ``null``.

    ``kind``, one of :data:`KINDS`, need not be told of comparisons, gates, histories and diagnoses.
    """
    return written(document(result, kind))


def document(result: Any, kind: str = "") -> dict[str, Any]:
    """The document as plain values."""
    made = _MAKERS[kind or getattr(result, "kind", "diagnosis")](result)
    values: dict[str, Any] = msgspec.to_builtins(made)
    return values


def written(values: object) -> str:
    """Plain values as JSON, which has neither NaN nor infinity: such numbers are ``null``."""
    try:
        return json.dumps(values, indent=2, allow_nan=False) + "\n"
    except ValueError:
        return json.dumps(_finite(values), indent=2, allow_nan=False) + "\n"


def _finite(values: object) -> object:
    if isinstance(values, dict):
        return {key: _finite(each) for key, each in values.items()}
    if isinstance(values, list | tuple):
        return [_finite(each) for each in values]
    return None if isinstance(values, float) and not math.isfinite(values) else values


def tool() -> dict[str, str]:
    """Who wrote a document."""
    return {"name": "kernelprof", "version": VERSION}


def finite(value: float | None) -> float | None:
    """A number as JSON has it: ``None`` for what is none."""
    return value if value is not None and math.isfinite(value) else None


def _tool() -> contract.Tool:
    return contract.Tool("kernelprof", VERSION)


def _as(kind: type[Struct], value: object) -> Struct:
    """A value of the model as the part of the contract whose keys are its attributes."""
    return kind(*(getattr(value, name) for name in kind.__struct_fields__))


def _all(kind: type[Struct], values: Iterable[object]) -> list[Struct]:
    return [_as(kind, each) for each in values]


def _if_known(make: Callable[[Known], Made], value: Known | None) -> Made | None:
    return None if value is None else make(value)


def _diagnosis(diagnoses: Sequence[Diagnosis]) -> contract.Diagnosis:
    return contract.Diagnosis(
        schema_version=contract.VERSION,
        tool=_tool(),
        captures=[
            contract.CaptureRead(
                origin=each.origin,
                launches=each.launches,
                preset=each.preset,
                warnings=list(each.warnings),
            )
            for each in diagnoses
        ],
        kernels=[_kernel(kernel, each.origin) for each in diagnoses for kernel in each.kernels],
    )


def _kernel(kernel: KernelDiagnosis, origin: str) -> contract.Kernel:
    capability = kernel.compute_capability
    return contract.Kernel(
        ids=list(kernel.ids),
        name=kernel.name,
        grid=_if_known(list, kernel.grid),
        block=_if_known(list, kernel.block),
        launches=kernel.launches,
        duration_ns=_if_known(
            lambda each: contract.Duration(each.median, each.low, each.high), kernel.duration_ns
        ),
        share=kernel.share,
        device=kernel.device,
        compute_capability=None if capability is None else f"{capability[0]}.{capability[1]}",
        origin=origin,
        verdict=_verdict(kernel.verdict),
    )


def _verdict(verdict: Verdict) -> contract.Verdict:
    return contract.Verdict(
        status=verdict.status,
        bottleneck=verdict.bottleneck,
        confidence=verdict.confidence,
        also=[each.bottleneck for each in verdict.also],
        estimated_gain=verdict.gain,
        evidence=[
            contract.Evidence(
                metric=each.metric,
                label=each.label,
                value=each.value,
                unit=each.unit,
                op=cast("Any", relation(each)),
                threshold=each.threshold,
                source=each.source,
            )
            for each in verdict.evidence
            if math.isfinite(each.value)
        ],
        missing=list(dict.fromkeys(each.ncu_name for each in verdict.missing)),
        command=verdict.command,
        why=verdict.why,
        advice=list(verdict.advice),
        gain_reason=verdict.gain_reason,
        next_limit=verdict.next_limit,
        gain_if_halved=verdict.gain_if_halved,
        candidates=_all(contract.Candidate, verdict.also),
        notes=list(verdict.notes),
        missing_metrics=_all(contract.MissingMetric, verdict.missing),
    )


def _comparison(comparison: Comparison) -> changes.Comparison:
    return changes.Comparison(
        schema_version=contract.VERSION,
        kind="comparison",
        tool=_tool(),
        **_sides(comparison),
        kernels=[changes.ComparedKernel(**_compared(each)) for each in comparison.kernels],
    )


def _gate(result: GateResult) -> changes.Gate:
    from kernelprof.comparison.words import reason

    return changes.Gate(
        schema_version=contract.VERSION,
        kind="gate",
        tool=_tool(),
        outcome=result.outcome,
        exit_code=cast("Any", int(result.exit_code)),
        reason=reason(result),
        inconclusive_passes=result.inconclusive_passes,
        findings=_all(changes.Finding, result.general),
        **_sides(result.comparison),
        kernels=[_judged(each) for each in result.kernels],
    )


def _sides(comparison: Comparison) -> dict[str, Any]:
    """What comparisons and the gate say of both sides."""
    from kernelprof.comparison.words import summary

    return {
        "before": comparison.before.origin,
        "after": comparison.after.origin,
        "summary": summary(comparison),
        "times_comparable": comparison.times_comparable,
        "machine": _all(changes.Change, comparison.machine),
        "notes": list(comparison.notes),
    }


def _judged(result: KernelResult) -> changes.JudgedKernel:
    return changes.JudgedKernel(
        **_compared(result.kernel),
        outcome=result.outcome,
        findings=_all(changes.Finding, result.findings),
    )


def _compared(kernel: KernelComparison) -> dict[str, Any]:
    from kernelprof.comparison.words import headline, notes

    return {
        "name": kernel.name,
        "match": kernel.match,
        "summary": headline(kernel),
        "before": _if_known(_side, kernel.before),
        "after": _if_known(_side, kernel.after),
        "time": _time(kernel.time),
        "verdict_changed": kernel.verdict_changed,
        "other_work": kernel.other_work,
        "counters": _all(changes.ComparedCounter, kernel.counters),
        "lacking": list(kernel.lacking),
        "metrics": _all(changes.MetricChange, kernel.metrics),
        "inputs": _all(changes.Change, kernel.inputs),
        "notes": list(notes(kernel)),
        "diff": kernel.diff,
    }


def _side(side: KernelSnapshot) -> changes.Side:
    return changes.Side(
        name=side.name,
        grid=_if_known(list, side.grid),
        block=_if_known(list, side.block),
        launches=side.launches,
        verdict=_side_verdict(side),
        median_ns=side.median_ns,
        events_ns=[each for each in side.events_ns if math.isfinite(each)],
        profiled_ns=[each for each in side.profiled_ns if math.isfinite(each)],
        passed=side.passed,
        source=_if_known(
            lambda each: changes.SourceFile(each.path, each.source_sha256), side.inputs
        ),
    )


def _side_verdict(side: KernelSnapshot) -> changes.SideVerdict:
    verdict = side.verdict
    return changes.SideVerdict(
        status=verdict.status,
        bottleneck=verdict.bottleneck,
        confidence=verdict.confidence,
        also=[each.bottleneck for each in verdict.also],
        estimated_gain=verdict.gain,
    )


def _time(change: TimeChange) -> changes.Time:
    return changes.Time(
        outcome=change.outcome,
        measured_by=change.how,
        before_ns=change.before_ns,
        after_ns=change.after_ns,
        ratio=change.ratio,
        ratio_low=change.low,
        ratio_high=change.high,
        p=change.p,
        noise_floor=change.floor,
        noise_floor_from=change.floor_from,
        samples=changes.Samples(*change.samples),
        reason=change.reason,
    )


def _history(history: History) -> changes.History:
    return changes.History(
        schema_version=contract.VERSION,
        kind="history",
        tool=_tool(),
        origin=history.origin,
        source=history.source,
        moments=history.moments,
        notes=list(history.notes),
        kernels=[_kernel_history(each) for each in history.kernels],
    )


def _kernel_history(kernel: KernelHistory) -> changes.KernelHistory:
    from kernelprof.comparison.history.words import summary

    return changes.KernelHistory(
        name=kernel.name,
        detail=kernel.detail,
        summary=summary(kernel),
        older=kernel.older,
        rows=[_row(each) for each in kernel.rows],
    )


def _row(row: HistoryRow) -> changes.Row:
    kernel = row.kernel
    return changes.Row(
        **_moment(row.moment),
        machine=_as(changes.Machine, row.moment.machine),
        grid=_if_known(list, kernel.grid),
        block=_if_known(list, kernel.block),
        launches=kernel.launches,
        verdict=_side_verdict(kernel),
        passed=kernel.passed,
        source_sha256=None if kernel.inputs is None else kernel.inputs.source_sha256,
        measured_by=cast("Any", measured_by(kernel)),
        samples=len(kernel.events_ns or kernel.profiled_ns),
        median_ns=kernel.median_ns,
        low_ns=row.low_ns,
        high_ns=row.high_ns,
        compared_with=_if_known(lambda each: changes.Moment(**_moment(each)), row.against),
        time=_if_known(_time, row.time),
        verdict_changed=row.verdict_changed,
        counters=_all(changes.CounterChange, row.counters),
        lacking=list(row.lacking),
        accepted=_all(changes.Acceptance, row.accepted),
    )


def _moment(moment: Moment) -> dict[str, Any]:
    return {
        "date": moment.date,
        "origin": moment.origin,
        "kind": moment.kind,
        "commit": _if_known(lambda each: _as(changes.Commit, each), moment.commit),
    }


def measured_by(kernel: KernelSnapshot) -> str | None:
    """What took the times that the median is of."""
    from kernelprof.comparison.times import EVENTS, PROFILER

    if kernel.events_ns:
        return EVENTS
    return PROFILER if kernel.profiled_ns else None


def _doctor(checks: Sequence[Check]) -> contract.Doctor:
    return contract.Doctor(schema_version=contract.VERSION, checks=_all(contract.Check, checks))


_MAKERS: Final[dict[str, Callable[[Any], msgspec.Struct]]] = {
    "diagnosis": _diagnosis,
    "comparison": _comparison,
    "gate": _gate,
    "history": _history,
    "doctor": _doctor,
}
KINDS: Final = tuple(_MAKERS)
WRITER: Final = Writer("json", ".json", write, kinds=KINDS)
