"""What comparisons look at: the kernels of a capture with times, counters, verdicts and inputs.

A snapshot is made from a capture, from the JSON of an earlier diagnosis, or read from a baseline
file, so that a comparison does not know where its sides come from. What is not known is ``None`` or
absent, never a number.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

Extent = tuple[int, int, int]
"""Blocks of a grid or threads of a block, in x, y and z."""


@dataclass(frozen=True, slots=True)
class Said:
    """A verdict, as far as comparisons look at it; ``gain`` is a factor of run time."""

    status: str
    bottleneck: str | None
    confidence: str
    gain: float | None = None
    also: tuple[str, ...] = ()

    @property
    def answer(self) -> tuple[str, str | None]:
        """What makes two verdicts the same: the status and the bottleneck."""
        return self.status, self.bottleneck


@dataclass(frozen=True, slots=True)
class OtherVerdict:
    """What some launches of a kernel got, where most got another verdict."""

    verdict: Said
    launches: int


@dataclass(frozen=True, slots=True)
class Noise:
    """What repeated captures of the same code showed.

    ``floor`` is the largest relative difference of two captures' median times, ``how`` says which
    times, and ``varying`` are the counters that differed although nothing had changed, each with
    its largest relative difference.
    """

    floor: float
    captures: int
    how: str
    varying: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Inputs:
    """What a kernel was built and launched from."""

    path: str
    source_sha256: str
    specification: dict[str, Any] | None = None
    compiler: str | None = None
    compile_flags: tuple[str, ...] = ()
    includes: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Machine:
    """What a capture was measured on, and how.

    ``sm_hz`` is the SM clock while kernels ran, where they ran long enough to tell; ``rough_sm_hz``
    the same where they did not.
    """

    gpu: str | None = None
    compute_capability: str | None = None
    driver: str | None = None
    cuda: str | None = None
    ncu: str | None = None
    clock_control: str | None = None
    sm_hz: float | None = None
    rough_sm_hz: float | None = None


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
    verdict: Said
    events_ns: tuple[float, ...] = ()
    profiled_ns: tuple[float, ...] = ()
    median_ns: float | None = None
    metrics: dict[str, float] = field(default_factory=dict)
    spread: dict[str, tuple[float, float]] = field(default_factory=dict)
    flops: float | None = None
    """Floating-point operations that the launch specification says the problem needs."""
    min_bytes: float | None = None
    passed: bool | None = None
    """Whether its result was checked and right; ``None`` where it was not checked."""
    inputs: Inputs | None = None
    noise: Noise | None = None
    others: tuple[OtherVerdict, ...] = ()

    @property
    def total_ns(self) -> float | None:
        """The time of all launches of one run."""
        return None if self.median_ns is None else self.median_ns * self.launches

    @property
    def key(self) -> tuple[str, Extent | None, Extent | None]:
        """What makes two snapshots those of one kernel in one launch configuration."""
        return self.name, self.grid, self.block


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One side of a comparison."""

    origin: str
    created: str | None
    machine: Machine
    kernels: tuple[KernelSnapshot, ...]
