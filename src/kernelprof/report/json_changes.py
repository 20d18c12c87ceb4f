"""The JSON of comparisons, the gate, histories and optimizations: types, and how they are made."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any, Literal

from msgspec import Meta, structs

from kernelprof.comparison import words
from kernelprof.comparison.history import words as history_words
from kernelprof.model.comparison import (
    ComparedCounter,
    CounterChange,
    InputChange,
    Match,
    MetricChange,
    TimeChange,
)
from kernelprof.model.diagnosis import Confidence, Status
from kernelprof.model.gate import GateFinding, Outcome
from kernelprof.model.history import HistoryOrigin, MomentJson
from kernelprof.model.json_types import (
    Dimensions,
    JsonDocument,
    JsonStruct,
    NonNegative,
    Positive,
    about,
    added,
    narrowed,
)
from kernelprof.model.optimization import Basis, Decision, Ended
from kernelprof.model.snapshot import EVENTS, PROFILER, MachineJson

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kernelprof.model.comparison import Comparison, KernelComparison
    from kernelprof.model.diagnosis import Verdict
    from kernelprof.model.gate import GateResult, KernelResult
    from kernelprof.model.history import History, HistoryRow, KernelHistory
    from kernelprof.model.optimization import Attempt, Optimization
    from kernelprof.model.snapshot import KernelSnapshot

Passed = Annotated[
    bool | None, about("Whether the result was correct; null if it was not checked.")
]
Date = Annotated[
    str,
    Meta(
        description="When the capture was made, or the baseline was saved or committed, in UTC.",
        pattern="^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$",
    ),
]
Lacking = Annotated[tuple[str, ...], about("Exact counters in only one of the two captures.")]
Median = Annotated[float | None, about("Median time of a launch, by CUDA events where available.")]
Line = Annotated[str, about("The outcome in one line.")]

_ONE_SIDE: dict[str, Any] = {
    "anyOf": [{"properties": {side: {"type": "object"}}} for side in ("before", "after")]
}


class SideVerdictJson(JsonStruct, frozen=True):
    """A verdict before or after the change."""

    status: Status
    bottleneck: Annotated[
        str | None,
        about(
            "A baseline from another version of kernelprof can contain a name that this version "
            "does not define."
        ),
    ]
    confidence: Confidence
    also: list[str]
    estimated_gain: float | None


class SourceFileJson(JsonStruct, frozen=True):
    path: str
    sha256: str


class SideJson(JsonStruct, frozen=True):
    """All launches of a kernel with one launch configuration."""

    name: str
    grid: Dimensions
    block: Dimensions
    launches: Positive
    verdict: SideVerdictJson
    median_ns: Median
    events_ns: Annotated[list[float], about("Time of each launch, by CUDA events.")]
    profiled_ns: Annotated[list[float], about("Time of each launch, by the profiler.")]
    passed: Passed
    source: Annotated[
        SourceFileJson | None, about("Source file that the kernel was built from, if known.")
    ]


class ComparedKernelJson(JsonStruct, frozen=True):
    """A kernel before and after."""

    name: str
    match: Match
    summary: Line
    before: SideJson | None
    after: SideJson | None
    time: TimeChange
    verdict_changed: bool
    other_work: Annotated[bool, about("Whether the amounts of work before and after differ.")]
    counters: list[ComparedCounter]
    lacking: Lacking
    metrics: tuple[MetricChange, ...]
    inputs: tuple[InputChange, ...]
    notes: tuple[str, ...]
    diff: Annotated[str, about("Unified diff of the sources; empty if equal or unknown.")]
    arch: Annotated[
        str | None,
        added("Architecture of the prediction, such as sm_90; null if the kernel was measured."),
    ]
    same_code: Annotated[
        bool, added("Whether the machine code before and after is the same; predictions only.")
    ]


class JudgedKernelJson(ComparedKernelJson, frozen=True):
    """A kernel before and after, with its findings, those that decide first."""

    outcome: Outcome
    findings: list[GateFinding]


class ComparisonJson(JsonDocument, frozen=True, kw_only=True):
    """What `kernelprof compare --format json` writes."""

    kind: Literal["comparison"] = "comparison"
    before: Annotated[str, about("The file, folder or stream with the capture before the change.")]
    after: Annotated[str, about("The file, folder or stream with the capture after the change.")]
    summary: Line
    times_comparable: Annotated[bool, about("Whether the times before and after are comparable.")]
    machine: Annotated[
        tuple[InputChange, ...],
        about("Differences between the machines and profilers of the captures."),
    ]
    notes: tuple[str, ...]
    kernels: Annotated[
        list[Annotated[ComparedKernelJson, Meta(extra_json_schema=_ONE_SIDE)]],
        about("Sorted by time, longest first."),
    ]


class GateJson(JsonDocument, frozen=True, kw_only=True):
    """What `kernelprof gate --format json` writes."""

    kind: Literal["gate"] = "gate"
    outcome: Outcome
    exit_code: Annotated[int, about("0 passed, 1 regression, 3 inconclusive.", enum=[0, 1, 3])]
    reason: Annotated[str, about("The outcome and its reason, in one line.")]
    inconclusive_passes: Annotated[
        bool,
        about(
            "Whether inconclusive results pass under the policy. Findings policy-changed and "
            "baseline-changed pass only if accepted (--accept-proposed)."
        ),
    ]
    findings: Annotated[list[GateFinding], about("Findings about the comparison as a whole.")]
    before: str
    after: str
    summary: Line
    times_comparable: bool
    machine: tuple[InputChange, ...]
    notes: tuple[str, ...]
    kernels: Annotated[
        list[Annotated[JudgedKernelJson, Meta(extra_json_schema=_ONE_SIDE)]],
        about("Kernels that decide the outcome come first."),
    ]


class AcceptanceJson(JsonStruct, frozen=True):
    """Who accepted a measurement and why, as the baseline records it."""

    when: str
    who: str
    reason: str


class HistoryRowJson(MomentJson, frozen=True):
    """One measurement of a kernel."""

    machine: MachineJson
    grid: Dimensions
    block: Dimensions
    launches: Positive
    verdict: SideVerdictJson
    passed: Passed
    source_sha256: str | None
    measured_by: Annotated[
        Annotated[str, Meta(extra_json_schema={"enum": [EVENTS, PROFILER]})] | None,
        about("null if there are no times of individual launches."),
    ]
    samples: Annotated[NonNegative, about("How many launches were timed.")]
    median_ns: Median
    low_ns: Annotated[float | None, about("The 5th percentile of the launch times.")]
    high_ns: Annotated[float | None, about("The 95th percentile of the launch times.")]
    compared_with: Annotated[MomentJson | None, about("The previous measurement on the same GPU.")]
    time: TimeChange | None
    verdict_changed: bool
    counters: tuple[CounterChange, ...]
    lacking: Lacking
    accepted: list[AcceptanceJson]


class KernelHistoryJson(JsonStruct, frozen=True):
    """A kernel over time."""

    name: str
    detail: Annotated[str, about("Distinguishes kernels with the same name.")]
    summary: Line
    older: Annotated[NonNegative, about("Number of older rows, which are not listed.")]
    rows: Annotated[
        list[HistoryRowJson], Meta(min_length=1, description="Sorted by date, oldest first.")
    ]


class HistoryJson(JsonDocument, frozen=True, kw_only=True):
    """What `kernelprof history --format json` writes."""

    kind: Literal["history"] = "history"
    origin: Annotated[str, about("The folder or baseline file that was read.")]
    source: HistoryOrigin
    moments: Annotated[
        int, Meta(ge=1, description="Number of captures, baselines or commits that were read.")
    ]
    notes: tuple[str, ...]
    kernels: Annotated[
        list[KernelHistoryJson], about("Sorted by time in the newest row, longest first.")
    ]


class AttemptJson(JsonStruct, frozen=True):
    """One proposal."""

    number: Annotated[NonNegative, about("The round, from 1.")]
    decision: Decision
    reason: Annotated[str, about("Reason for the decision.")]
    seconds: Annotated[float, about("Time from the request for a proposal to the decision.")]
    gate: Annotated[Outcome | None, about("null if the proposal was not judged.")]
    ratio: Annotated[
        float | None,
        about(
            "Time of the proposal / time of the best source so far, measured in the same round; "
            "null if not measured."
        ),
    ]
    verdict: SideVerdictJson | None
    diff: Annotated[str, about("Diff from the best source so far to the proposal.")]
    printed: Annotated[str, about("Last lines of output of the command that proposes changes.")]


class OptimizationJson(JsonDocument, frozen=True, kw_only=True):
    """What `kernelprof optimize --format json` writes."""

    kind: Literal["optimization"] = "optimization"
    source: str
    command: str
    basis: Annotated[Basis, about("What the decisions are based on.")]
    ended: Ended
    attempts: list[AttemptJson]
    first: Annotated[SideVerdictJson, about("The verdict of the original source.")]
    last: Annotated[SideVerdictJson, about("The verdict of the best source.")]
    ratio: Annotated[
        float | None, about("Time of the best source / time of the original; null without times.")
    ]
    seconds: float
    notes: tuple[str, ...]
    applied: Annotated[bool, about("Whether the best source replaced the original.")]
    changed: Annotated[
        tuple[str, ...], about("Files of the kernel that another program changed during the run.")
    ]
    saved: Annotated[
        str, about("Folder with the originals of the `changed` files; empty string if none.")
    ]
    diff: Annotated[str, about("Unified diff from the original source to the best one.")]
    text: Annotated[str, about("The best source.")]


def _verdict_json(verdict: Verdict) -> SideVerdictJson:
    also = [each.bottleneck for each in verdict.also]
    return narrowed(SideVerdictJson, verdict, also=also, estimated_gain=verdict.gain)


def _finite(values: Iterable[float]) -> list[float]:
    return [each for each in values if math.isfinite(each)]


def _side_json(side: KernelSnapshot | None) -> SideJson | None:
    if side is None:
        return None
    inputs = side.inputs
    return narrowed(
        SideJson,
        side,
        verdict=_verdict_json(side.verdict),
        events_ns=_finite(side.events_ns),
        profiled_ns=_finite(side.profiled_ns),
        source=None if inputs is None else SourceFileJson(inputs.path, inputs.source_sha256),
    )


def _compared_json(kernel: KernelComparison) -> ComparedKernelJson:
    return narrowed(
        ComparedKernelJson,
        kernel,
        summary=words.headline(kernel),
        before=_side_json(kernel.before),
        after=_side_json(kernel.after),
        counters=[narrowed(ComparedCounter, each) for each in kernel.counters],
        notes=words.notes(kernel),
    )


def _judged_json(result: KernelResult) -> JudgedKernelJson:
    return narrowed(
        JudgedKernelJson,
        _compared_json(result.kernel),
        outcome=result.outcome,
        findings=[narrowed(GateFinding, each) for each in result.findings],
    )


def comparison_json(comparison: Comparison) -> ComparisonJson:
    """Put a comparison into its document."""
    return narrowed(
        ComparisonJson,
        comparison,
        before=comparison.before.origin,
        after=comparison.after.origin,
        summary=words.summary(comparison),
        kernels=[_compared_json(each) for each in comparison.kernels],
    )


def gate_json(result: GateResult) -> GateJson:
    """Put what the gate decides into its document."""
    return narrowed(
        GateJson,
        comparison_json(result.comparison),
        kind=result.kind,
        outcome=result.outcome,
        exit_code=int(result.exit_code),
        reason=words.reason(result),
        inconclusive_passes=result.inconclusive_passes,
        findings=[narrowed(GateFinding, each) for each in result.general],
        kernels=[_judged_json(each) for each in result.kernels],
    )


def _row_json(row: HistoryRow) -> HistoryRowJson:
    moment, kernel = row.moment, row.kernel
    return narrowed(
        HistoryRowJson,
        row,
        **structs.asdict(narrowed(MomentJson, moment)),
        machine=narrowed(MachineJson, moment.machine),
        grid=kernel.grid,
        block=kernel.block,
        launches=kernel.launches,
        verdict=_verdict_json(kernel.verdict),
        passed=kernel.passed,
        source_sha256=None if kernel.inputs is None else kernel.inputs.source_sha256,
        measured_by=kernel.measured_by,
        samples=len(kernel.times_ns),
        median_ns=kernel.median_ns,
        compared_with=None if row.against is None else narrowed(MomentJson, row.against),
        accepted=[narrowed(AcceptanceJson, each) for each in row.accepted],
    )


def _kernel_history_json(kernel: KernelHistory) -> KernelHistoryJson:
    return narrowed(
        KernelHistoryJson,
        kernel,
        summary=history_words.summary(kernel),
        rows=[_row_json(each) for each in kernel.rows],
    )


def history_json(history: History) -> HistoryJson:
    """Put a history into its document."""
    kernels = [_kernel_history_json(each) for each in history.kernels]
    return narrowed(HistoryJson, history, kernels=kernels)


def _attempt_json(attempt: Attempt) -> AttemptJson:
    verdict = None if attempt.verdict is None else _verdict_json(attempt.verdict)
    return narrowed(AttemptJson, attempt, verdict=verdict)


def optimization_json(result: Optimization) -> OptimizationJson:
    """Put what was proposed for a kernel into its document."""
    return narrowed(
        OptimizationJson,
        result,
        attempts=[_attempt_json(each) for each in result.attempts],
        first=_verdict_json(result.first),
        last=_verdict_json(result.last),
    )
