"""The JSON of comparisons, the gate and the history; see :mod:`kernelprof.report.json_schema`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta, field

from kernelprof.model.comparison import Match, TimeOutcome  # noqa: TC001 (read for the schema)
from kernelprof.model.diagnosis import Confidence, Status  # noqa: TC001
from kernelprof.model.gate import Code, Outcome  # noqa: TC001
from kernelprof.model.history import HistoryOrigin, MomentKind  # noqa: TC001 (the types are read)
from kernelprof.model.records import about
from kernelprof.report.json_schema_parts import (
    Amount,
    Canonical,
    Dimensions,
    Launches,
    Object,
    Part,
    Tool,
    Version,
)

Passed = Annotated[
    bool | None, about("Whether the result was checked and right; null: not checked.")
]
Date = Annotated[
    str,
    Meta(
        description="When it was captured, saved or committed, in UTC.",
        pattern="^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$",
    ),
]
Lacking = Annotated[list[str], about("Exact counters that only one side has.")]
Median = Annotated[
    float | None, about("Median time of a launch, by CUDA events where they were taken.")
]
Line = Annotated[str, about("What happened, in a line.")]
Worse = Annotated[bool | None, about("null where neither direction costs anything.")]

_ONE_SIDE: dict[str, Any] = {
    "anyOf": [{"properties": {side: {"type": "object"}}} for side in ("before", "after")]
}


class Change(Object):
    """Something that differs in what the sides were built, launched or measured with."""

    kind: Annotated[
        str,
        about(
            "source, sizes, defines, flags, compiler, launch, and for machines GPU, "
            "driver and the like. Several entries can be one kind."
        ),
    ]
    what: str
    before: str
    after: str


class SideVerdict(Object):
    """A verdict of one side."""

    status: Status
    bottleneck: Annotated[
        str | None, about("A baseline of another version may name one that this one lacks.")
    ]
    confidence: Confidence
    also: list[str]
    estimated_gain: float | None


class SourceFile(Object):
    path: str
    sha256: str


class Side(Object):
    """All launches of a kernel with one launch configuration."""

    name: str
    grid: Dimensions
    block: Dimensions
    launches: Launches
    verdict: SideVerdict
    median_ns: Median
    events_ns: Annotated[list[float], about("Launches, timed by CUDA events.")]
    profiled_ns: Annotated[list[float], about("Launches, timed by the profiler.")]
    passed: Passed
    source: Annotated[SourceFile | None, about("What it was built from, if known.")]


class Samples(Object):
    before: Amount
    after: Amount


class Time(Object):
    """Times before and after.

    faster and slower are a difference beyond the noise floor that chance does not explain; same is
    within the noise floor; undecided is neither.
    """

    outcome: TimeOutcome
    measured_by: str | None
    before_ns: float | None
    after_ns: float | None
    ratio: Annotated[float | None, about("after over before.")]
    ratio_low: Annotated[float | None, about("Of the 95 % bootstrap interval.")]
    ratio_high: float | None
    p: Annotated[Part | None, about("Two-sided Mann-Whitney probability.")]
    noise_floor: Annotated[
        float | None, about("The relative difference below which nothing is concluded.")
    ]
    noise_floor_from: str
    samples: Samples
    reason: Annotated[
        str, about("Why nothing is concluded, where that is so, or what but the median decided.")
    ]
    of: Annotated[
        Literal["median", "mean"],
        about("What of the launches the times are: mean where all of them together decide."),
    ] = "median"


class CounterChange(Object):
    """A counter that repeats to the last digit for the same code, and differs."""

    metric: Canonical
    label: str
    unit: str
    before: float | None
    after: float | None
    worse: Worse


class ComparedCounter(CounterChange):
    """A counter that differs, also by what it is counted by, such as a request."""

    each: Annotated[str | None, about("What the next two are counted by.")]
    before_each: float | None
    after_each: float | None


class MetricChange(Object):
    """Another metric that differs by more than its noise."""

    metric: Canonical
    unit: str
    before: float | None
    after: float | None
    explains: Annotated[
        Part | None,
        about(
            "Part of the time's change by which the unit's own busy time changed; "
            "null for what is no utilization."
        ),
    ]


class ComparedKernel(Object):
    """A kernel before and after."""

    name: str
    match: Match
    summary: Line
    before: Side | None
    after: Side | None
    time: Time
    verdict_changed: bool
    other_work: Annotated[bool, about("Whether the sides do another amount of work.")]
    counters: list[ComparedCounter]
    lacking: Lacking
    metrics: list[MetricChange]
    inputs: list[Change]
    notes: list[str]
    diff: Annotated[str, about("Unified diff of the sources, where both are known.")]
    arch: Annotated[
        str | None, about("What it was predicted for, such as sm_90; null: it was measured.")
    ] = None
    same_code: Annotated[
        bool, about("Whether both sides are the same machine code, which is known of predictions.")
    ] = False


class Place(Object):
    """A line of a source."""

    file: str
    line: Annotated[int, Meta(ge=1)]


class Finding(Object):
    """One thing that was found, and what it means for the outcome."""

    code: Annotated[Code, about("Scripts filter by it. docs/gate.md lists what each means.")]
    outcome: Outcome
    text: str
    places: Annotated[
        list[Place], about("Lines to blame, those that were changed first; of predictions.")
    ] = field(default_factory=list)


class JudgedKernel(ComparedKernel, kw_only=True):
    """A kernel before and after, with its findings, those that decide first."""

    outcome: Outcome
    findings: list[Finding]


class Comparison(Object):
    """What `kernelprof compare --format json` writes."""

    schema_version: Version
    kind: Literal["comparison"]
    tool: Tool
    before: Annotated[str, about("What the first side was read from.")]
    after: Annotated[str, about("What the second side was read from.")]
    summary: Line
    times_comparable: Annotated[bool, about("Whether the sides were measured alike.")]
    machine: Annotated[list[Change], about("What differs between the machines and profilers.")]
    notes: list[str]
    kernels: Annotated[
        list[Annotated[ComparedKernel, Meta(extra_json_schema=_ONE_SIDE)]],
        about("The ones that take most time come first."),
    ]


class Gate(Object):
    """What `kernelprof gate --format json` writes."""

    schema_version: Version
    kind: Literal["gate"]
    tool: Tool
    outcome: Outcome
    exit_code: Annotated[Literal[0, 1, 3], about("0 passed, 1 regression, 3 inconclusive.")]
    reason: Annotated[str, about("The outcome and why, in a line.")]
    inconclusive_passes: Annotated[
        bool,
        about(
            "Whether the policy lets pass what is inconclusive. A policy or a baseline that the "
            "change would alter is stopped all the same."
        ),
    ]
    findings: Annotated[list[Finding], about("Findings of no single kernel.")]
    before: str
    after: str
    summary: Line
    times_comparable: bool
    machine: list[Change]
    notes: list[str]
    kernels: Annotated[
        list[Annotated[JudgedKernel, Meta(extra_json_schema=_ONE_SIDE)]],
        about("Kernels that decide come first."),
    ]


class Commit(Object):
    sha: str
    subject: str


class Moment(Object):
    """A capture, or a baseline as it was at one time."""

    date: Date
    origin: Annotated[str, about("The path below the folder; COMMIT:PATH of a committed baseline.")]
    kind: MomentKind
    commit: Annotated[Commit | None, about("Of a baseline that was read from git.")]


class Machine(Object):
    """What it was measured on, and how."""

    gpu: str | None
    compute_capability: str | None
    driver: str | None
    cuda: str | None
    ncu: str | None
    clock_control: str | None
    sm_hz: Annotated[float | None, about("The SM clock while kernels ran.")]


class Acceptance(Object):
    """Who accepted a measurement and why, as the baseline records it."""

    when: str
    who: str
    reason: str


class Row(Moment):
    """One measurement of a kernel."""

    machine: Machine
    grid: Dimensions
    block: Dimensions
    launches: Launches
    verdict: SideVerdict
    passed: Passed
    source_sha256: str | None
    measured_by: Annotated[
        Literal["CUDA events", "the profiler"] | None,
        about("null where times of single launches are not known."),
    ]
    samples: Annotated[Amount, about("How many launches were timed.")]
    median_ns: Median
    low_ns: Annotated[float | None, about("The 5th percentile of the launches.")]
    high_ns: Annotated[float | None, about("The 95th percentile of the launches.")]
    compared_with: Annotated[
        Moment | None, about("The last measurement before it on the same GPU.")
    ]
    time: Time | None
    verdict_changed: bool
    counters: list[CounterChange]
    lacking: Lacking
    accepted: list[Acceptance]


class KernelHistory(Object):
    """A kernel over time."""

    name: str
    detail: Annotated[str, about("What tells kernels of one name apart.")]
    summary: Line
    older: Annotated[Amount, about("Rows before the first of these.")]
    rows: Annotated[list[Row], Meta(min_length=1, description="The oldest first.")]


class History(Object):
    """What `kernelprof history --format json` writes."""

    schema_version: Version
    kind: Literal["history"]
    tool: Tool
    origin: Annotated[str, about("The folder or the baseline file.")]
    source: HistoryOrigin
    moments: Annotated[int, Meta(ge=1, description="Captures, baselines or commits read.")]
    notes: list[str]
    kernels: Annotated[
        list[KernelHistory], about("Those that take most time by their newest row come first.")
    ]
