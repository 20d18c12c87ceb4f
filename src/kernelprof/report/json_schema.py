"""The JSON of a diagnosis, and what all documents share, version 1: scripts rely on it.

Within version 1 fields are added, never removed or given another meaning. The types are what
``kernelprof schema`` prints as JSON Schemas. Times are in nanoseconds.
"""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, field

from kernelprof.model.diagnosis import Confidence, Status  # noqa: TC001 (the types are read)
from kernelprof.model.records import about
from kernelprof.report.json_schema_parts import (
    Amount,
    Bottleneck,
    Canonical,
    Dimensions,
    Evidence,
    Factor,
    Launches,
    Nanoseconds,
    Object,
    Part,
    Tool,
    Version,
)
from kernelprof.report.json_schema_survey import Survey, SurveyedKernel  # noqa: TC001

_DECIDED: dict[str, Any] = {
    "if": {"properties": {"status": {"const": "inconclusive"}}},
    "then": {"properties": {"bottleneck": {"type": "null"}}},
    "else": {"properties": {"bottleneck": {"type": "string"}}},
}


class InferredLaunch(Object):
    """How a kernel was launched whose source does not say it: what `kernelprof init` writes."""

    specification: Annotated[
        dict[str, Any], about("The launch specification, with its defaults written out.")
    ]
    remarks: Annotated[list[str], about("What is to be known beside.")]


class CaptureRead(Object):
    origin: Annotated[str, about("The file or stream it was read from.")]
    launches: Amount
    preset: Annotated[str | None, about("The preset that the commands ask for, if one was chosen.")]
    warnings: Annotated[list[str], about("What was wrong with the capture.")]
    survey: Annotated[
        Survey | None, about("The whole program, where it was surveyed before it was measured.")
    ] = None
    inferred: Annotated[
        InferredLaunch | None,
        about("The launch, where it was inferred from a source that has no specification."),
    ] = None


class Duration(Object):
    """Run time of a launch, over all launches."""

    median: Nanoseconds | None
    min: Nanoseconds | None
    max: Nanoseconds | None


class Finding(Object):
    """What one value says by itself, and the bottleneck that it speaks for, if for one."""

    text: str
    metric: Annotated[str, about("Canonical name of the metric, or ncu's where it has none.")]
    bottleneck: Bottleneck | None


class Candidate(Object):
    """A bottleneck in the running, with the bounds of its gain that rules are compared by."""

    bottleneck: Bottleneck
    gain_at_least: float | None
    gain_at_most: float | None


class MissingMetric(Object):
    """A metric that would decide, and why it matters."""

    metric: Canonical
    ncu_name: str
    why: str


class Verdict(Object):
    """The answer for a kernel.

    bottleneck: something can be removed. at-limit: a unit is full of work that is needed.
    inconclusive: the evidence does not decide.
    """

    status: Status
    bottleneck: Bottleneck | None
    confidence: Confidence
    also: Annotated[
        list[Bottleneck],
        about(
            "Runners-up that the evidence does not tell apart from the first; the "
            "candidates of an inconclusive verdict."
        ),
    ]
    estimated_gain: Annotated[
        Factor | None, about("What removing the bottleneck is expected to bring.")
    ]
    evidence: list[Evidence]
    missing: Annotated[
        list[str],
        about(
            "ncu's names of the metrics that would decide or raise the confidence.",
            uniqueItems=True,
        ),
    ]
    command: Annotated[
        str | None,
        about("The ncu command that collects what is missing; null also where no ncu takes it."),
    ]
    why: str
    advice: list[str]
    gain_reason: Annotated[str, about("What the gain, or the next limit, was worked out from.")]
    next_limit: Annotated[
        Factor | None,
        about(
            "At a unit's limit: the factor at which the next unit is full, however "
            "little work this one has."
        ),
    ]
    gain_if_halved: Annotated[
        Factor | None,
        about("At a unit's limit: the gain with half of its work, at most next_limit."),
    ]
    candidates: Annotated[list[Candidate], about("`also`, each with its gain.")]
    notes: list[str]
    missing_metrics: Annotated[list[MissingMetric], about("`missing`, each with why it matters.")]
    gain_interval: Annotated[
        Annotated[list[Factor], Meta(min_length=2, max_length=2)] | None,
        about("[low, high]: four of five gains measured with the corpus lie between such factors."),
    ] = None
    findings: Annotated[
        list[Finding],
        about("What single values say, where the whole is not decided or only at low confidence."),
    ] = field(default_factory=list)


class Counted(Object):
    """A count of the whole grid, and the interval in which it lies."""

    value: float
    low: float
    high: float


class Access(Object):
    """What accesses of one kind, width and pattern at one source line ask of memory in a launch."""

    file: str | None
    line: Annotated[int, Meta(ge=1)] | None
    space: Annotated[str, about("global, shared, local or constant.")]
    kind: Annotated[str, about("load, store, copy, atomic, reduction and the like.")]
    bytes_a_thread: Amount
    instructions: Annotated[Amount, about("Machine instructions at the line that do this.")]
    requests: Counted
    sectors: Annotated[Counted | None, about("Of global and local memory.")]
    wavefronts: Annotated[Counted | None, about("Of shared memory.")]
    ideal: Annotated[Counted | None, about("As many of either as adjacent addresses would take.")]


class Prediction(Object):
    """On what a verdict rests that was predicted from machine code, and not measured."""

    arch: Annotated[str, about("What the code was compiled for, such as sm_90.")]
    code: Annotated[str, about("A digest of the machine code: equal ones do the same.")]
    blocks: Annotated[Amount, about("Of the grid.")]
    blocks_run: Annotated[Amount, about("Of these so many were carried out.")]
    accesses: Annotated[list[Access], about("Those that move the most come first.")]


class BlamedLine(Object):
    """A line of source, or a machine instruction without one, and its part of something."""

    file: Annotated[str | None, about("null without line information.")]
    line: Annotated[int, Meta(ge=1)] | None
    text: Annotated[str, about("The line's source; empty where it is not known.")]
    function: Annotated[str, about("The kernel.")]
    instruction: Annotated[str, about("The machine instruction of most weight there.")]
    offset: Annotated[Amount, about("Where it stands in the kernel's code, in bytes.")]
    kind: Annotated[str, about("load, store, atomic, barrier, branch and the like.")]
    share: Part
    of: Annotated[
        str, about("What share is a part of: waiting, excess sectors, idle threads and the like.")
    ]
    helper: Annotated[str, about("The inlined function that the line is in; empty: the kernel.")]
    called_at: Annotated[list[int], about("Lines of the same file that call it, as far as known.")]
    sectors: Annotated[
        float | None, about("Of 32 bytes, for each time that a warp carries out the access.")
    ]
    wavefronts: Annotated[float | None, about("The same of shared memory.")]
    ideal: Annotated[float | None, about("As many of either as the access would take at best.")]


class Waiting(Object):
    """What the warps of a kernel wait for."""

    samples: Annotated[Amount, about("Samples of warps, over all launches.")]
    waiting: Annotated[Amount, about("Those of warps that waited.")]
    unknown: Annotated[Part, about("The part of which it is not known what it waits for.")]
    lines: Annotated[list[BlamedLine], about("Those with most of the waiting, at most five.")]


class Kernel(Object):
    """A kernel in one launch configuration, over all its launches."""

    ids: Annotated[list[str], Meta(min_length=1, description="The capture's own IDs.")]
    name: str
    grid: Dimensions
    block: Dimensions
    launches: Launches
    duration_ns: Annotated[Duration | None, about("null where the capture has no duration.")]
    share: Annotated[Part | None, about("Part of the capture's total time, 0 to 1.")]
    device: str | None
    compute_capability: Annotated[str, Meta(pattern=r"^[0-9]+\.[0-9]+$")] | None
    origin: Annotated[str, about("The capture that the kernel is in.")]
    verdict: Annotated[Verdict, Meta(extra_json_schema=_DECIDED)]
    predicted: Annotated[
        Prediction | None, about("null where the kernel was measured, and not predicted.")
    ] = None
    place: Annotated[
        BlamedLine | None, about("The line that the verdict blames; null where none is known.")
    ] = None
    waiting: Annotated[
        Waiting | None, about("null where the capture has no samples by instruction.")
    ] = None
    surveyed: Annotated[
        SurveyedKernel | None,
        about(
            "All launches of it in a program that was surveyed: `launches`, `ids` and "
            "`duration_ns` are of those that were measured, `share` is of the whole program."
        ),
    ] = None


class Diagnosis(Object):
    """What `kernelprof diagnose --format json` writes."""

    schema_version: Version
    tool: Tool
    captures: Annotated[list[CaptureRead], about("In the order of the command line.")]
    kernels: Annotated[list[Kernel], about("Within a capture, those that took most time first.")]


class Check(Object):
    """Something that was looked for: what is there, what its lack stops, how to get it."""

    name: str
    title: str
    ok: Annotated[bool | None, about("null where it is not known.")]
    found: str
    stops: str
    remedy: str


class Doctor(Object):
    """What `kernelprof doctor --format json` writes."""

    schema_version: Version
    checks: list[Check]
