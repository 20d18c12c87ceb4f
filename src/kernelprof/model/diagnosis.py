"""What kernelprof says about a capture: plain values that every output and comparison reads."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, ClassVar, Final

from msgspec import Meta, field

from kernelprof.model.evidence import Evidence as Evidence  # noqa: PLC0414 (a part of it)
from kernelprof.model.json_types import (
    OR_NULL,
    Bottleneck,
    CanonicalName,
    Factor,
    FiniteOrNull,
    JsonStruct,
    about,
    added,
)
from kernelprof.model.waiting import BlamedLine

if TYPE_CHECKING:
    from kernelprof.model.launch_series import OverTime
    from kernelprof.model.survey import Survey, SurveyedKernel
    from kernelprof.model.waiting import StallSummary

HALF: Final = 2.0
"""By how much less work a unit at its limit would have, where that is asked: half of it."""


class Status(StrEnum):
    """The kind of a verdict."""

    BOTTLENECK = "bottleneck"
    """Something limits the kernel, and there is a known way out."""
    AT_LIMIT = "at-limit"
    """A unit is as busy as it gets with work that is needed."""
    INCONCLUSIVE = "inconclusive"
    """The evidence does not decide; the verdict carries the command that collects what would."""


class Confidence(StrEnum):
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


class MissingMetric(JsonStruct, frozen=True):
    """A metric that would decide, and why it matters."""

    metric: CanonicalName
    ncu_name: str
    why: str


class FindingJson(JsonStruct, frozen=True):
    """A fact that one value shows, and the bottleneck that it points to, if any."""

    text: str
    metric: Annotated[str, about("Canonical name of the metric; ncu's name if it has none.")]
    bottleneck: Bottleneck | None = None


class MetricFinding(FindingJson, frozen=True):
    """A finding with its ``weight``: how many times more of something there is than need be."""

    weight: float = 1.0


class VerdictEvidence(Evidence, frozen=True):
    """A fact with its ``phrase``: ``{x}`` is the value with its unit, ``{n}`` without."""

    phrase: str = ""


class Candidate(JsonStruct, frozen=True):
    """A bottleneck in the running, with the bounds of its gain that rules are compared by.

    They are factors of run time; of a candidate in a baseline only the name is known.
    """

    bottleneck: Bottleneck
    gain_at_least: FiniteOrNull = 1.0
    gain_at_most: FiniteOrNull = math.inf


class Cause(JsonStruct, frozen=True):
    """Something that makes a kernel slow; gains are factors of run time."""

    bottleneck: Bottleneck
    gain: Annotated[
        float, about("Gain from fixing this cause alone; below 1 if the kernel gets slower.")
    ]
    gain_low: Annotated[
        float,
        about("Lower end of the gain's range, which contains about 80 % of measured gains."),
    ]
    gain_high: Annotated[float, about("Upper end of the gain's range.")]
    gain_after_previous: Annotated[
        Factor, about("Further gain from fixing this cause after the causes listed before it.")
    ]
    confidence: Confidence
    alternative_to: Annotated[
        Bottleneck | None,
        about("Cause that can be fixed instead of this one to save the same time; null if none."),
    ] = None
    worse_alone: Annotated[
        bool, about("Whether fixing this cause alone makes the kernel slower.")
    ] = False
    evidence: tuple[Evidence, ...] = ()
    advice: tuple[str, ...] = ()
    place: Annotated[
        BlamedLine | None,
        added("The source line that contributes most to this cause; null if unknown."),
    ] = None


@dataclass(frozen=True, slots=True)
class NcuRun:
    """A run of ncu for one kernel: so many launches of a configuration, in the program.

    ``metrics`` are canonical names; without them the run collects ``--set full``.
    """

    kernel: str
    launches: int
    metrics: tuple[str, ...]
    compute_capability: tuple[int, int] | None
    clock_control: str | None
    program: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer for one kernel.

    ``gain`` is a factor of run time (2.0: half the time), an estimate of what removing the
    bottleneck brings, and ``gain_interval`` the factors between which four of five measured gains
    came out; ``None`` where nothing is to be removed or the evidence does not say.
    ``headroom`` is that estimate for a unit at its limit, of which no counter says how much
    of its work could go: the speedup at which the next unit is full. ``gain_reason`` is of either.
    ``causes`` are the bottleneck and what limits the kernel after it, in the order in which they
    pay, ``combined_gain`` is what all of their fixes bring, and ``next_limit`` the unit that is
    full then, if one is.
    ``waste`` are the shares of needless work that were looked for where a unit is at its limit.
    ``also`` names the runners-up that the evidence does not tell apart from the first (for an
    inconclusive verdict: the candidates). ``findings`` say what single values show where the whole
    is not decided, or only by a lead. ``notes`` are sentences that qualify the verdict.
    ``missing`` is what would decide (inconclusive) or raise the confidence (otherwise), and
    ``command`` collects just that: a run of ncu as ``run`` describes it, if it is one.
    """

    status: Status
    bottleneck: str | None
    confidence: Confidence
    gain: float | None = None
    gain_interval: tuple[float, float] | None = None
    gain_reason: str = ""
    headroom: float | None = None
    causes: tuple[Cause, ...] = ()
    combined_gain: float | None = None
    next_limit: str | None = None
    also: tuple[Candidate, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    waste: tuple[Evidence, ...] = ()
    why: str = ""
    advice: tuple[str, ...] = ()
    findings: tuple[MetricFinding, ...] = ()
    notes: tuple[str, ...] = ()
    missing: tuple[MissingMetric, ...] = ()
    command: str | None = None
    run: NcuRun | None = None

    @property
    def answer(self) -> tuple[Status, str | None]:
        """What makes two verdicts the same: the status and the bottleneck."""
        return self.status, self.bottleneck

    @property
    def gain_if_halved(self) -> float | None:
        """The gain if a unit at its limit had half the work, until the next one is full."""
        return None if self.headroom is None else min(HALF, self.headroom)


Duration = Annotated[float, Meta(extra_json_schema={"minimum": 0, OR_NULL: True})]


class DurationRange(JsonStruct, frozen=True):
    """Run time of a launch, over all launches."""

    median: Duration
    low: Duration = field(name="min")
    high: Duration = field(name="max")


@dataclass(frozen=True, slots=True)
class KernelDiagnosis:
    """One kernel with one launch configuration and one verdict, over all its launches.

    ``rows`` are the positions of its launches in the capture, ``ids`` the capture's own IDs.
    ``duration_ns`` is ``None`` where the capture has no duration; ``share`` is the part of the
    capture's total time, 0 to 1. Of a program that was surveyed ``surveyed`` has all launches of
    the kernel, of which those in ``rows`` were measured, and ``share`` is of the time of all.
    ``place`` is the line that the verdict blames, ``waiting`` what the kernel's warps wait for, and
    ``over_time`` what one of its launches did when; ``None`` where the capture does not say.
    """

    rows: tuple[int, ...]
    ids: tuple[str, ...]
    name: str
    grid: tuple[int, int, int] | None
    block: tuple[int, int, int] | None
    device: str | None
    compute_capability: tuple[int, int] | None
    duration_ns: DurationRange | None
    share: float | None
    verdict: Verdict
    place: BlamedLine | None = None
    waiting: StallSummary | None = None
    surveyed: SurveyedKernel | None = None
    over_time: OverTime | None = None

    @property
    def launches(self) -> int:
        return len(self.rows)


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """All kernels of a capture, the ones that took most time first.

    ``survey`` is what is known of the whole program, where that was surveyed before.
    """

    kind: ClassVar[str] = "diagnosis"

    kernels: tuple[KernelDiagnosis, ...]
    origin: str
    preset: str | None = None
    warnings: tuple[str, ...] = ()
    survey: Survey | None = None

    @property
    def launches(self) -> int:
        return sum(k.launches for k in self.kernels)

    @property
    def inconclusive(self) -> bool:
        undecided = any(k.verdict.status is Status.INCONCLUSIVE for k in self.kernels)
        return undecided or (self.survey is not None and not self.kernels)
