"""What kernelprof says about two captures: plain values that every output and the gate read."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from kernelprof.model.json_types import CanonicalName, FiniteOrNull, JsonStruct, Share, about
from kernelprof.model.prediction import (  # noqa: TC001 (a record's types are read)
    Mistake,
    Number,
)

if TYPE_CHECKING:
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


@dataclass(frozen=True, slots=True)
class TimeChange:
    """Times before and after, in nanoseconds of one launch.

    ``before_ns`` and ``after_ns`` are medians, or means where ``of`` says that all launches
    together decide. ``ratio`` is after over before, ``low`` and ``high`` its 95 % bootstrap
    interval, ``p`` the two-sided Mann-Whitney probability; ``None`` where samples are too few.
    ``floor`` is the relative difference below which nothing is concluded, and ``floor_from`` where
    it comes from. ``reason`` says why nothing is concluded, or what else than the median decided.
    """

    outcome: TimeOutcome
    how: str | None = None
    of: Literal["median", "mean"] = "median"
    before_ns: Number | None = None
    after_ns: Number | None = None
    ratio: Number | None = None
    low: Number | None = None
    high: Number | None = None
    p: Number | None = None
    floor: Number | None = None
    floor_from: str = ""
    sure: Number | None = None
    """The difference from which on single launches show one for sure."""
    samples: tuple[int, int] = (0, 0)
    reason: str = ""


@dataclass(frozen=True, slots=True)
class CounterChange:
    """An exact counter that differs. ``worse`` is ``None`` where neither direction costs anything.

    ``before_each`` and ``after_each`` are the same a request, where that is how it is read. With
    ``partly`` some launches are as before, and the values are those that differ most.
    """

    metric: str
    label: str
    unit: str
    before: float
    after: float
    worse: bool | None
    before_each: float | None = None
    after_each: float | None = None
    each: str | None = None
    partly: bool = False


class MetricChange(JsonStruct, frozen=True):
    """Another metric that differs by more than its noise."""

    metric: CanonicalName
    unit: str
    before: FiniteOrNull
    after: FiniteOrNull
    explains: Annotated[
        Share | None,
        about(
            "Part of the time's change by which the unit's own busy time changed; "
            "null for what is no utilization."
        ),
    ]


class InputChange(JsonStruct, frozen=True):
    """Something that differs in what the sides were built, launched or measured with."""

    kind: Annotated[
        str,
        about(
            "source, sizes, defines, flags, compiler, launch, and for machines GPU, "
            "driver and the like. Several entries can be one kind."
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
    counters: tuple[CounterChange, ...] = ()
    lacking: tuple[str, ...] = ()
    """Exact counters that only one side has."""
    metrics: tuple[MetricChange, ...] = ()
    inputs: tuple[InputChange, ...] = ()
    other_work: bool = False
    """Whether the sides do another amount of work: other sizes, FLOPs or a grid nobody explains."""
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
