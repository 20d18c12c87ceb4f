"""What kernelprof says about two captures: plain values that every output and the gate read."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from msgspec import field

from kernelprof.model.json_types import (
    CanonicalName,
    FiniteOrNull,
    JsonStruct,
    NonNegative,
    Number,
    Share,
    about,
    added,
)

if TYPE_CHECKING:
    from kernelprof.model.prediction import Mistake
    from kernelprof.model.snapshot import KernelSnapshot, Snapshot


class TimeOutcome(StrEnum):
    """What the times say; only the first two are a difference."""

    FASTER = "faster"
    SLOWER = "slower"
    SAME = "same"
    """The medians are within the noise floor of each other."""
    UNDECIDED = "undecided"
    """They are further apart than that, and the samples could still be those of one kernel."""
    NOT_ENOUGH_SAMPLES = "not enough samples"
    NOT_COMPARABLE = "not comparable"
    """Another machine, other clocks, another profiler or other sizes."""
    NOT_MEASURED = "not measured"


class Match(StrEnum):
    """How a kernel of one side was found on the other."""

    SAME = "same"
    """The same name, grid and block."""
    LAUNCH = "another launch"
    """The same name with another grid or block."""
    RENAMED = "renamed"
    VANISHED = "vanished"
    APPEARED = "appeared"


class Samples(JsonStruct, frozen=True):
    """How many launches were timed."""

    before: NonNegative = 0
    after: NonNegative = 0

    @property
    def fewer(self) -> int:
        """Those of the side with fewer of them."""
        return min(self.before, self.after)


class TimeChange(JsonStruct, frozen=True):
    """Times before and after.

    faster and slower are a difference beyond the noise floor that chance does not explain; same is
    within the noise floor; undecided is neither.
    """

    outcome: TimeOutcome
    measured_by: str | None = None
    before_ns: Number | None = None
    after_ns: Number | None = None
    ratio: Annotated[float | None, about("after / before.")] = None
    ratio_low: Annotated[float | None, about("Lower end of the 95 % bootstrap interval.")] = None
    ratio_high: float | None = None
    p: Annotated[Share | None, about("Two-sided Mann-Whitney probability.")] = None
    noise_floor: Annotated[
        float | None, about("Relative differences up to this value are noise.")
    ] = None
    noise_floor_from: str = ""
    samples: Samples = Samples()
    reason: Annotated[
        str,
        about(
            "Why the times are not comparable, not measured or undecided, or how the median "
            "changed if the mean decided."
        ),
    ] = ""
    statistic: Annotated[
        Literal["median", "mean"],
        added("Statistic that was compared; mean if it decided instead of the median."),
    ] = field(name="of", default="median")
    smallest_detectable: Annotated[
        float | None,
        added(
            "Smallest relative slowdown that, applied to every launch, would make `outcome` "
            "`slower`."
        ),
    ] = None


class CounterChange(JsonStruct, frozen=True):
    """A counter that repeats to the last digit for the same code, and differs."""

    metric: CanonicalName
    label: str
    unit: str
    before: FiniteOrNull
    after: FiniteOrNull
    worse: Annotated[
        bool | None, about("Whether the counter got worse; null if no direction counts as worse.")
    ]


class ComparedCounter(CounterChange, frozen=True):
    """A counter that differs, also by what it is counted by, such as a request."""

    is_partial: ClassVar[bool] = False
    """Whether some launches are as before; the values are those that differ most."""

    each: Annotated[
        str | None,
        about("Denominator of before_each and after_each, such as a request."),
    ] = None
    before_each: float | None = None
    after_each: float | None = None


class PartlyChangedCounter(ComparedCounter, frozen=True):
    """A counter that differs in some of the launches."""

    is_partial: ClassVar[bool] = True


class MetricChange(JsonStruct, frozen=True):
    """Another metric that differs by more than its noise."""

    metric: CanonicalName
    unit: str
    before: FiniteOrNull
    after: FiniteOrNull
    explains: Annotated[
        Share | None,
        about(
            "Change in a hardware unit's busy time as a share of the change in run time; "
            "null if the metric is not a unit's utilization or the time hardly changed."
        ),
    ]


class InputChange(JsonStruct, frozen=True):
    """Something that differs in what the sides were built, launched or measured with."""

    kind: Annotated[
        str,
        about(
            "source, sizes, defines, flags, compiler, launch and the like; in `machine`: GPU, "
            "driver and the like. Several entries can have the same kind."
        ),
    ]
    what: str
    before: str = ""
    after: str = ""


@dataclass(frozen=True, slots=True)
class KernelComparison:
    """One kernel before and after; one side is ``None`` where it vanished or appeared."""

    match: Match
    before: KernelSnapshot | None
    after: KernelSnapshot | None
    time: TimeChange
    verdict_changed: bool = False
    counters: tuple[ComparedCounter, ...] = ()
    lacking: tuple[str, ...] = ()
    """Exact counters that only one side has."""
    metrics: tuple[MetricChange, ...] = ()
    inputs: tuple[InputChange, ...] = ()
    other_work: bool = False
    """Whether the sides do a different amount of work: other sizes, FLOPs or a grid nobody "
    "explains."""
    same_code: bool = False
    """Whether both sides are known to run the same instructions on the same problem."""
    diff: str = ""
    """The unified diff of the sources, where both are known."""
    kinds: tuple[str, ...] = ()
    """The kinds of change among the inputs, each once."""
    notes: tuple[str, ...] = ()
    confirmed: bool = False
    """Whether somebody said that two names are of one kernel."""

    @property
    def name(self) -> str:
        return self._side.name

    @property
    def arch(self) -> str | None:
        """The architecture that it was predicted for; ``None`` where it was measured."""
        return self._side.arch

    @property
    def mistake(self) -> Mistake | None:
        """What is wrong with the second version of a prediction, where that is why it ended."""
        predicted = None if self.after is None else self.after.predicted
        return None if predicted is None else predicted.mistake

    @property
    def _side(self) -> KernelSnapshot:
        side = self.after or self.before
        assert side is not None  # one of them is always there
        return side


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two captures side by side, the kernels that matter most first."""

    kind: ClassVar[str] = "comparison"

    before: Snapshot
    after: Snapshot
    kernels: tuple[KernelComparison, ...]
    machine: tuple[InputChange, ...] = ()
    times_comparable: bool = True
    notes: tuple[str, ...] = ()
