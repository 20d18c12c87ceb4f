"""What comparisons look at: the kernels of a capture with times, counters, verdicts and inputs.

A snapshot is made from a capture, from the JSON of an earlier diagnosis, or from a baseline file,
so that a comparison does not know where its sides come from. A verdict that was read from a file is
its status, bottleneck, confidence, gain and the names of the runners-up. What is not known is
``None`` or absent, never a number.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Final

from kernelprof.model.diagnosis import Verdict  # noqa: TC001 (a record's types are read)
from kernelprof.model.json_types import Extent, JsonStruct, Number, about
from kernelprof.model.prediction import Predicted  # noqa: TC001

if TYPE_CHECKING:
    from collections.abc import Mapping

EVENTS: Final = "CUDA events"
PROFILER: Final = "the profiler"

Key = tuple[str, Extent | None, Extent | None, str | None]
"""Name, grid, block, and the architecture of a prediction."""


@dataclass(frozen=True, slots=True)
class OtherVerdict:
    """What some launches of a kernel got, where most got another verdict."""

    verdict: Verdict
    launches: int


@dataclass(frozen=True, slots=True)
class Noise:
    """What repeated captures of the same code showed.

    ``floor`` is the largest relative difference of two captures' median times, ``how`` says which
    times, and ``varying`` are the counters that differed although nothing had changed, each with
    its largest relative difference.
    """

    floor: Number
    captures: int
    how: str
    varying: dict[str, Number] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Inputs:
    """What a kernel was built and launched from."""

    path: str
    source_sha256: str
    specification: dict[str, Any] | None = None
    compiler: str | None = None
    compile_flags: tuple[str, ...] = ()
    includes: dict[str, Any] | None = None


class MachineJson(JsonStruct, frozen=True):
    """What it was measured on, and how."""

    gpu: str | None = None
    compute_capability: str | None = None
    driver: str | None = None
    cuda: str | None = None
    ncu: str | None = None
    clock_control: str | None = None
    sm_hz: Annotated[Number | None, about("The SM clock while kernels ran.")] = None


class MeasurementSetup(MachineJson, frozen=True):
    """The same with the SM clock of kernels that did not run long enough to tell."""

    rough_sm_hz: Number | None = None


@dataclass(frozen=True, slots=True)
class KernelSnapshot:
    """All launches of a kernel with one launch configuration.

    ``events_ns`` are times between CUDA events, ``profiled_ns`` those that the profiler gave, each
    a launch; ``median_ns`` is all that is known of the time where neither is there. ``metrics`` are
    medians over the launches, by canonical name and in its unit; ``spread`` has the lowest and the
    highest value of counters in which the launches differ. ``launches`` are those of one run, and
    ``verdict`` is that of most of them.
    """

    name: str
    grid: Extent | None
    block: Extent | None
    launches: int
    verdict: Verdict
    events_ns: tuple[Number, ...] = ()
    profiled_ns: tuple[Number, ...] = ()
    median_ns: Number | None = None
    metrics: dict[str, Number] = field(default_factory=dict)
    spread: dict[str, tuple[Number, Number]] = field(default_factory=dict)
    flops: Number | None = None
    """Floating-point operations that the launch specification says the problem needs."""
    min_bytes: Number | None = None
    passed: bool | None = None
    """Whether its result was checked and right; ``None`` where it was not checked."""
    inputs: Inputs | None = None
    noise: Noise | None = None
    others: tuple[OtherVerdict, ...] = ()
    contradiction: str | None = None
    """Why its times cannot be those of its launches, by its other metrics."""
    predicted: Predicted | None = None
    """What was counted by line, where it was predicted and not measured."""

    @property
    def arch(self) -> str | None:
        """The architecture that it was predicted for; ``None`` where it was measured."""
        return None if self.predicted is None else self.predicted.arch

    @property
    def predicted_ns(self) -> float | None:
        """The time of a prediction, which is shown and never judged."""
        return None if self.predicted is None else self.metrics.get("duration")

    @property
    def specification(self) -> dict[str, Any] | None:
        """The launch specification, where one is known."""
        return None if self.inputs is None else self.inputs.specification

    @property
    def times_ns(self) -> tuple[Number, ...]:
        """The times of launches that its median is of."""
        return self.events_ns or self.profiled_ns

    @property
    def measured_by(self) -> str | None:
        """What took them."""
        return (EVENTS if self.events_ns else PROFILER) if self.times_ns else None

    @property
    def total_ns(self) -> float | None:
        """The time of all launches of one run, by the mean of those that were timed."""
        if self.measured_by is not None:
            return self.total_by(self.measured_by)
        return None if self.median_ns is None else self.median_ns * self.launches

    def total_by(self, how: str) -> float | None:
        """The same by CUDA events or by the profiler; ``None`` where it has no such times."""
        times = self.events_ns if how == EVENTS else self.profiled_ns
        return sum(times) / len(times) * self.launches if times else None

    @property
    def key(self) -> Key:
        """What makes two snapshots those of one kernel in one launch configuration."""
        return self.name, self.grid, self.block, self.arch


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One side of a comparison.

    ``created`` is when it was measured, in ISO 8601. ``sources`` are the texts of its kernels'
    sources, as far as they are known, by the SHA-256 that their inputs name. ``warnings`` are what
    its capture has, ``damage`` those among them after which it is not whole. ``target`` are the
    words of ``kernelprof profile`` that measure the same again, where a capture says them, and
    ``surveyed`` whether it is of a program of which ``diagnose`` chose the launches;
    ``accepted`` is what a baseline has on record.
    """

    origin: str
    created: str | None = None
    machine: MeasurementSetup = field(default_factory=MeasurementSetup)
    kernels: tuple[KernelSnapshot, ...] = ()
    sources: Mapping[str, str] = field(default_factory=dict, repr=False)
    warnings: tuple[str, ...] = ()
    damage: tuple[str, ...] = ()
    target: tuple[str, ...] = ()
    surveyed: bool = False
    accepted: tuple[Acceptance, ...] = ()


@dataclass(frozen=True, slots=True)
class Acceptance:
    """A regression that somebody accepted into a baseline; times are UTC in ISO 8601."""

    kernel: str
    when: str
    who: str
    reason: str
    before: Verdict | None = None
    after: Verdict | None = None
    before_ns: Number | None = None
    after_ns: Number | None = None
