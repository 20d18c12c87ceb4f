"""Results as JSON, as :mod:`kernelprof.report.json_schema` has it, and the schemas of that."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

import msgspec

from kernelprof.model.numbers import relation
from kernelprof.report import json_schema
from kernelprof.report import json_schema_changes as changes
from kernelprof.report.writers import Writer
from kernelprof.version import __version__

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
        # Without an indent the encoder of C does it, many times as fast.
        return msgspec.json.format(json.dumps(values, allow_nan=False), indent=2) + "\n"
    except ValueError:
        return json.dumps(_finite(values), indent=2, allow_nan=False) + "\n"


def _finite(values: object) -> object:
    if isinstance(values, dict):
        return {key: _finite(each) for key, each in values.items()}
    if isinstance(values, list | tuple):
        return [_finite(each) for each in values]
    return None if isinstance(values, float) and not math.isfinite(values) else values


def _as(kind: type[Struct], /, *values: object, **own: Any) -> Struct:
    """Values of the model as a part of the contract, by the names of its keys.

    Of several values the first counts that has the attribute.
    """
    found = {
        name: own[name]
        if name in own
        else next(getattr(each, name) for each in values if hasattr(each, name))
        for name in kind.__struct_fields__
    }
    lists = {name: list(each) for name, each in found.items() if isinstance(each, tuple)}
    return kind(**{**found, **lists})


def _all(kind: type[Struct], values: Iterable[object]) -> list[Struct]:
    return [_as(kind, each) for each in values]


def _root(kind: type[Struct], value: object, /, **own: Any) -> Struct:
    """A whole document; one of several kinds names its own."""
    tool = json_schema.Tool("kernelprof", __version__)
    name = kind.__name__.lower()
    return _as(kind, value, schema_version=json_schema.VERSION, kind=name, tool=tool, **own)


def _if_known(make: Callable[[Known], Made], value: Known | None) -> Made | None:
    return None if value is None else make(value)


def _diagnosis(diagnoses: Sequence[Diagnosis]) -> json_schema.Diagnosis:
    return _root(
        json_schema.Diagnosis,
        diagnoses,
        captures=_all(json_schema.CaptureRead, diagnoses),
        kernels=[_kernel(kernel, each.origin) for each in diagnoses for kernel in each.kernels],
    )


def _kernel(kernel: KernelDiagnosis, origin: str) -> json_schema.Kernel:
    capability, spread = kernel.compute_capability, kernel.duration_ns
    return _as(
        json_schema.Kernel,
        kernel,
        duration_ns=spread and json_schema.Duration(spread.median, spread.low, spread.high),
        compute_capability=capability and f"{capability[0]}.{capability[1]}",
        origin=origin,
        verdict=_verdict(kernel.verdict),
    )


def _verdict(verdict: Verdict) -> json_schema.Verdict:
    return _as(
        json_schema.Verdict,
        verdict,
        also=[each.bottleneck for each in verdict.also],
        estimated_gain=verdict.gain,
        evidence=[
            _as(json_schema.Evidence, each, op=relation(each))
            for each in verdict.evidence
            if math.isfinite(each.value)
        ],
        missing=list(dict.fromkeys(each.ncu_name for each in verdict.missing)),
        candidates=_all(json_schema.Candidate, verdict.also),
        missing_metrics=_all(json_schema.MissingMetric, verdict.missing),
    )


def _comparison(comparison: Comparison) -> changes.Comparison:
    kernels = [_compared(changes.ComparedKernel, each) for each in comparison.kernels]
    return _root(changes.Comparison, comparison, **_sides(comparison), kernels=kernels)


def _gate(result: GateResult) -> changes.Gate:
    from kernelprof.comparison.words import reason

    return _root(
        changes.Gate,
        result,
        exit_code=int(result.exit_code),
        reason=reason(result),
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
        "notes": comparison.notes,
    }


def _judged(result: KernelResult) -> changes.JudgedKernel:
    findings = _all(changes.Finding, result.findings)
    return _compared(changes.JudgedKernel, result.kernel, outcome=result.outcome, findings=findings)


def _compared(kind: type[Struct], kernel: KernelComparison, **judged: Any) -> Struct:
    from kernelprof.comparison.words import headline, notes

    return _as(
        kind,
        kernel,
        summary=headline(kernel),
        before=_if_known(_side, kernel.before),
        after=_if_known(_side, kernel.after),
        time=_time(kernel.time),
        counters=_all(changes.ComparedCounter, kernel.counters),
        metrics=_all(changes.MetricChange, kernel.metrics),
        inputs=_all(changes.Change, kernel.inputs),
        notes=notes(kernel),
        **judged,
    )


def _side(side: KernelSnapshot) -> changes.Side:
    source = side.inputs
    return _as(
        changes.Side,
        side,
        verdict=_side_verdict(side),
        events_ns=[each for each in side.events_ns if math.isfinite(each)],
        profiled_ns=[each for each in side.profiled_ns if math.isfinite(each)],
        source=source and changes.SourceFile(source.path, source.source_sha256),
    )


def _side_verdict(side: KernelSnapshot) -> changes.SideVerdict:
    verdict = side.verdict
    also = [each.bottleneck for each in verdict.also]
    return _as(changes.SideVerdict, verdict, also=also, estimated_gain=verdict.gain)


def _time(change: TimeChange) -> changes.Time:
    return _as(
        changes.Time,
        change,
        measured_by=change.how,
        ratio_low=change.low,
        ratio_high=change.high,
        noise_floor=change.floor,
        noise_floor_from=change.floor_from,
        samples=changes.Samples(*change.samples),
    )


def _history(history: History) -> changes.History:
    return _root(
        changes.History, history, kernels=[_kernel_history(each) for each in history.kernels]
    )


def _kernel_history(kernel: KernelHistory) -> changes.KernelHistory:
    from kernelprof.comparison.history.words import summary

    rows = [_row(each) for each in kernel.rows]
    return _as(changes.KernelHistory, kernel, summary=summary(kernel), rows=rows)


def _row(row: HistoryRow) -> changes.Row:
    kernel = row.kernel
    return _as(
        changes.Row,
        row,
        kernel,
        row.moment,
        machine=_as(changes.Machine, row.moment.machine),
        commit=_commit(row.moment),
        verdict=_side_verdict(kernel),
        source_sha256=None if kernel.inputs is None else kernel.inputs.source_sha256,
        measured_by=measured_by(kernel),
        samples=len(kernel.events_ns or kernel.profiled_ns),
        compared_with=_if_known(
            lambda each: _as(changes.Moment, each, commit=_commit(each)), row.against
        ),
        time=_if_known(_time, row.time),
        counters=_all(changes.CounterChange, row.counters),
        accepted=_all(changes.Acceptance, row.accepted),
    )


def _commit(moment: Moment) -> changes.Commit | None:
    return _if_known(lambda each: _as(changes.Commit, each), moment.commit)


def measured_by(kernel: KernelSnapshot) -> str | None:
    """What took the times that the median is of."""
    from kernelprof.comparison.times import EVENTS, PROFILER

    if kernel.events_ns:
        return EVENTS
    return PROFILER if kernel.profiled_ns else None


def _doctor(checks: Sequence[Check]) -> json_schema.Doctor:
    return _root(json_schema.Doctor, checks, checks=_all(json_schema.Check, checks))


ROOTS: Final[dict[str, type[msgspec.Struct]]] = {
    "diagnosis": json_schema.Diagnosis,
    "comparison": changes.Comparison,
    "gate": changes.Gate,
    "history": changes.History,
}


def schema(kind: str = "diagnosis") -> str:
    """The published JSON Schema of a kind of result, one of :data:`ROOTS`."""
    from kernelprof.analysis.rules import registry

    root = ROOTS[kind]
    (body,), definitions = msgspec.json.schema_components([root])
    definitions = cast("dict[str, Any]", _named(definitions))
    if json_schema.BOTTLENECK in json.dumps(definitions):
        definitions[json_schema.BOTTLENECK] = {
            "description": "A bottleneck's name; `kernelprof explain NAME` prints its page.",
            "enum": list(registry()),
        }
    published = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:kernelprof:{kind}:v{json_schema.VERSION}",
        "title": f"kernelprof {kind}, version {json_schema.VERSION}",
        "description": f"{root.__doc__} Fields are added within version {json_schema.VERSION}, "
        "never removed or given another meaning.",
        **body,
        "$defs": definitions,
    }
    return json.dumps(published, indent=2) + "\n"


def _named(node: object) -> object:
    """A schema in which names of bottlenecks refer to the one list of them."""
    if isinstance(node, list):
        return [_named(each) for each in node]
    if not isinstance(node, dict):
        return node
    if node.get("title") == json_schema.BOTTLENECK:
        return {"$ref": f"#/$defs/{json_schema.BOTTLENECK}"}
    return {key: _named(each) for key, each in node.items()}


_MAKERS: Final[dict[str, Callable[[Any], msgspec.Struct]]] = {
    "diagnosis": _diagnosis,
    "comparison": _comparison,
    "gate": _gate,
    "history": _history,
    "doctor": _doctor,
}
KINDS: Final = tuple(_MAKERS)
WRITER: Final = Writer("json", ".json", write, kinds=KINDS)
