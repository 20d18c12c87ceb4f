"""The JSON of diagnoses and of whole programs: types, and how they are made of results."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta

from kernelprof.analysis.ncu_command import shared_command
from kernelprof.model.diagnosis import (
    Candidate,
    Cause,
    Confidence,
    DurationRange,
    FindingJson,
    MissingMetric,
    Status,
)
from kernelprof.model.evidence import Evidence
from kernelprof.model.json_types import (
    VERSION,
    Bottleneck,
    Dimensions,
    Factor,
    JsonStruct,
    NonNegative,
    Positive,
    Share,
    Tool,
    Version,
    about,
    added,
    narrowed,
)
from kernelprof.model.launch_series import OverTime
from kernelprof.model.survey import Survey, SurveyedKernel
from kernelprof.model.waiting import BlamedLine, StallSummary

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernelprof.model.diagnosis import Diagnosis, KernelDiagnosis, Verdict
    from kernelprof.model.manifest import SourceFacts
    from kernelprof.model.prediction import Amount, Predicted, PredictedAccess
    from kernelprof.sources.source import Contents

_DECIDED: dict[str, Any] = {
    "if": {"properties": {"status": {"const": "inconclusive"}}},
    "then": {"properties": {"bottleneck": {"type": "null"}}},
    "else": {"properties": {"bottleneck": {"type": "string"}}},
}


class InferredLaunchJson(JsonStruct, frozen=True):
    """The launch of a kernel without a launch specification, as `kernelprof init` writes it."""

    specification: Annotated[
        dict[str, Any], about("The launch specification, with its defaults written out.")
    ]
    remarks: Annotated[tuple[str, ...], about("Notes.")]


class CaptureJson(JsonStruct, frozen=True):
    origin: Annotated[str, about("The file, folder or stream that the capture was read from.")]
    launches: NonNegative
    preset: Annotated[
        str | None, about("The preset that the suggested commands request, if one was chosen.")
    ]
    warnings: Annotated[tuple[str, ...], about("Problems in the capture.")]
    survey: Annotated[
        Survey | None, added("The survey of the whole program, if one preceded the measurement.")
    ]
    inferred: Annotated[
        InferredLaunchJson | None,
        added("The launch that was inferred from a source without a specification."),
    ]
    command: Annotated[
        str | None, added("One command that collects the missing metrics of all verdicts.")
    ]


class VerdictJson(JsonStruct, frozen=True):
    """The answer for a kernel.

    bottleneck: something can be removed. at-limit: a unit is saturated with necessary work.
    inconclusive: the evidence is not conclusive.
    """

    status: Status
    bottleneck: Bottleneck | None
    confidence: Confidence
    also: Annotated[
        list[Bottleneck],
        about(
            "Runners-up that the evidence does not distinguish from the bottleneck, or the "
            "candidates of an inconclusive verdict."
        ),
    ]
    estimated_gain: Annotated[Factor | None, about("Expected gain from removing the bottleneck.")]
    evidence: list[Evidence]
    waste: Annotated[
        list[Evidence],
        added("Status at-limit: the kinds of needless work that were checked, with their shares."),
    ]
    missing: Annotated[
        list[str],
        about(
            "ncu's names of the metrics that would decide the verdict or raise its confidence.",
            uniqueItems=True,
        ),
    ]
    command: Annotated[
        str | None,
        about(
            "The ncu command that collects the missing metrics; null if none are missing or "
            "ncu does not have them."
        ),
    ]
    why: str
    advice: tuple[str, ...]
    gain_reason: Annotated[str, about("What the gain or the next limit is computed from.")]
    next_limit: Annotated[
        Factor | Bottleneck | None,
        about(
            "Status at-limit: the speedup at which the next unit saturates. Status bottleneck: "
            "the unit that is saturated after all causes are fixed, if there is one."
        ),
    ]
    gain_if_halved: Annotated[
        Factor | None,
        about("Status at-limit: the gain from halving the unit's work, at most `next_limit`."),
    ]
    candidates: Annotated[
        tuple[Candidate, ...], about("The bottlenecks in `also`, each with its gain.")
    ]
    notes: tuple[str, ...]
    missing_metrics: Annotated[
        tuple[MissingMetric, ...],
        about("The metrics in `missing`, each with the reason why it matters."),
    ]
    gain_interval: Annotated[
        tuple[Factor, Factor] | None,
        added(
            "[low, high]; on test kernels with a known bottleneck, four of five measured gains "
            "were within their interval."
        ),
    ]
    findings: Annotated[
        list[FindingJson],
        added("Remarks on individual metrics; only for an inconclusive or low-confidence verdict."),
    ]
    causes: Annotated[
        tuple[Cause, ...],
        added("The bottleneck and the limits after it, in the order in which to fix them."),
    ]
    combined_gain: Annotated[Factor | None, added("Expected gain from fixing all causes.")]


class AmountJson(JsonStruct, frozen=True):
    """A count of the whole grid, and the interval in which it lies."""

    value: float
    low: float
    high: float


class AccessJson(JsonStruct, frozen=True):
    """Per-launch traffic of all accesses with the same kind, width and pattern at a source line."""

    file: str | None
    line: Positive | None
    space: Annotated[str, about("global, shared, local or constant.")]
    kind: Annotated[str, about("load, store, copy, atomic, reduction and the like.")]
    bytes_a_thread: NonNegative
    instructions: Annotated[
        NonNegative, about("Number of instructions at this line that make these accesses.")
    ]
    requests: AmountJson
    sectors: Annotated[AmountJson | None, about("Sectors of global or local memory.")]
    wavefronts: Annotated[AmountJson | None, about("Wavefronts of shared memory.")]
    ideal: Annotated[
        AmountJson | None, about("Sectors or wavefronts needed if the addresses were adjacent.")
    ]


class PredictionJson(JsonStruct, frozen=True):
    """The basis of a verdict that was predicted from machine code, not measured."""

    arch: Annotated[str, about("Architecture that the code was compiled for, such as sm_90.")]
    code: Annotated[str, about("Hash of the machine code; equal hashes mean equal code.")]
    blocks: Annotated[NonNegative, about("Number of blocks in the grid.")]
    blocks_run: Annotated[NonNegative, about("Number of blocks executed.")]
    accesses: Annotated[list[AccessJson], about("Most sectors or wavefronts first.")]


class KernelJson(JsonStruct, frozen=True):
    """A kernel in one launch configuration, over all its launches."""

    ids: Annotated[tuple[str, ...], Meta(min_length=1, description="Launch IDs in the capture.")]
    name: str
    grid: Dimensions
    block: Dimensions
    launches: Positive
    duration_ns: Annotated[DurationRange | None, about("null where the capture has no duration.")]
    share: Annotated[Share | None, about("Part of the capture's total time, 0 to 1.")]
    device: str | None
    compute_capability: Annotated[str, Meta(pattern=r"^[0-9]+\.[0-9]+$")] | None
    origin: Annotated[str, about("The capture that the kernel is in.")]
    verdict: Annotated[VerdictJson, Meta(extra_json_schema=_DECIDED)]
    predicted: Annotated[
        PredictionJson | None, added("null if the kernel was measured instead of predicted.")
    ]
    place: Annotated[
        BlamedLine | None, added("The line that the verdict blames; null where none is known.")
    ]
    waiting: Annotated[
        StallSummary | None, added("null if the capture has no per-instruction samples.")
    ]
    surveyed: Annotated[
        SurveyedKernel | None,
        added(
            "The survey of all launches of this kernel. The kernel's `launches`, `ids` and "
            "`duration_ns` cover only the measured launches; `share` is the share of the whole "
            "program's kernel time."
        ),
    ]
    over_time: Annotated[
        OverTime | None,
        added("One launch over time; null if the capture has no time series of counters."),
    ]


class DiagnosisJson(JsonStruct, frozen=True, kw_only=True):
    """What `kernelprof diagnose --format json` writes."""

    schema_version: Version = VERSION
    tool: Tool = Tool()
    captures: Annotated[list[CaptureJson], about("In command-line order.")]
    kernels: Annotated[list[KernelJson], about("Within a capture, longest time first.")]


def diagnoses_json(diagnoses: Sequence[Diagnosis]) -> DiagnosisJson:
    """Put diagnoses of several captures into one document."""
    return DiagnosisJson(
        captures=[_capture_json(each) for each in diagnoses],
        kernels=[_kernel_json(kernel, each) for each in diagnoses for kernel in each.kernels],
    )


def _contents(diagnosis: Diagnosis) -> Contents | None:
    # Only results of the interface have their capture.
    capture = getattr(diagnosis, "capture", None)
    return None if capture is None else capture.contents


def _capture_json(diagnosis: Diagnosis) -> CaptureJson:
    contents = _contents(diagnosis)
    source = None if contents is None else contents.inferred
    return narrowed(
        CaptureJson,
        diagnosis,
        inferred=None if source is None else _inferred_json(source),
        command=shared_command(each.verdict for each in diagnosis.kernels),
    )


def _inferred_json(source: SourceFacts) -> InferredLaunchJson:
    return InferredLaunchJson(source.specification or {}, source.inferred or ())


def _kernel_json(kernel: KernelDiagnosis, diagnosis: Diagnosis) -> KernelJson:
    contents = _contents(diagnosis)
    prediction = None if contents is None else contents.prediction
    capability = kernel.compute_capability
    return narrowed(
        KernelJson,
        kernel,
        compute_capability=None if capability is None else f"{capability[0]}.{capability[1]}",
        origin=diagnosis.origin,
        verdict=_verdict_json(kernel.verdict),
        predicted=None if prediction is None else _prediction_json(prediction.counts),
    )


def _verdict_json(verdict: Verdict) -> VerdictJson:
    return narrowed(
        VerdictJson,
        verdict,
        also=[each.bottleneck for each in verdict.also],
        estimated_gain=verdict.gain,
        evidence=[
            narrowed(Evidence, each) for each in verdict.evidence if math.isfinite(each.value)
        ],
        waste=[narrowed(Evidence, each) for each in verdict.waste],
        missing=list(dict.fromkeys(each.ncu_name for each in verdict.missing)),
        next_limit=verdict.next_limit if verdict.headroom is None else verdict.headroom,
        candidates=verdict.also,
        missing_metrics=verdict.missing,
        findings=[narrowed(FindingJson, each) for each in verdict.findings],
    )


def _prediction_json(prediction: Predicted) -> PredictionJson:
    accesses = [_access_json(each) for each in prediction.accesses]
    return narrowed(PredictionJson, prediction, accesses=accesses)


def _access_json(access: PredictedAccess) -> AccessJson:
    return narrowed(
        AccessJson,
        access,
        file=access.file or None,
        line=access.line or None,
        requests=AmountJson(*access.requests),
        sectors=_amount_json(access.sectors),
        wavefronts=_amount_json(access.wavefronts),
        ideal=_amount_json(access.ideal),
    )


def _amount_json(amount: Amount | None) -> AmountJson | None:
    return None if amount is None else AmountJson(*amount)
