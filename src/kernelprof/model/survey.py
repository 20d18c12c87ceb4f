"""What is known of a program before its kernels are measured: plain values for every output.

Times are in nanoseconds, and their keys in JSON end with the unit.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Final

from msgspec import field

from kernelprof.model.evidence import Evidence
from kernelprof.model.json_types import (
    JsonStruct,
    KnownDimensions,
    Nanoseconds,
    NonNegative,
    Positive,
    Share,
    about,
    added,
)
from kernelprof.model.records import build, read_object, to_json


class Replay(StrEnum):
    """What is repeated for each pass, by the names of ``ncu``'s option ``--replay-mode``."""

    KERNEL = "kernel"
    APPLICATION = "application"


class Limit(StrEnum):
    """What a program's time on the GPU goes to, or what the GPU waits for."""

    KERNELS = "kernels"
    """The GPU works nearly all the time: its kernels are what there is to look at."""
    LAUNCHES = "launches"
    """The host cannot launch as fast as short kernels end."""
    SYNCHRONIZATION = "synchronization"
    """The host waits for the GPU, and then the GPU for the host."""
    COPIES = "copies"
    """The GPU waits for copies between host and device."""
    ALLOCATION = "allocation"
    """The host allocates and frees memory while the GPU waits."""
    LOADING = "loading"
    """Code is loaded or compiled while the GPU waits."""
    HOST = "host"
    """The program does other things between its launches."""


class Idle(StrEnum):
    """What the host did while the GPU had nothing to do."""

    IN_GRAPHS = "between the kernels of a graph"
    QUEUED = "the next work was queued already"
    LOADING = "code was loaded or compiled"
    ALLOCATION = "memory was allocated or freed"
    COPIES = "the host prepared copies"
    LAUNCHES = "a launch was on its way"
    WAITING = "the host waited for the GPU"
    OWN_CODE = "the host ran other code"


class IdleTime(JsonStruct, frozen=True):
    """Time in which nothing ran on a GPU, by what the host did meanwhile."""

    host: Idle
    time: NonNegative = field(name="time_ns")


class GpuTime(JsonStruct, frozen=True):
    """How one GPU spent the time once the program had settled.

    ``idle`` has the parts of ``span`` in which neither a kernel nor a copy ran.
    """

    device: NonNegative
    name: str
    start_up: Annotated[
        NonNegative, about("Time from the first activity until 10 % of the launches were made.")
    ] = field(name="start_up_ns")
    span: Annotated[
        NonNegative, about("Time from the end of start-up to the end of the GPU's last kernel.")
    ] = field(name="span_ns")
    kernels: Annotated[NonNegative, about("Time in which at least one kernel ran.")] = field(
        name="kernels_ns"
    )
    copies: Annotated[NonNegative, about("Time in which only copies and memsets ran.")] = field(
        name="copies_ns"
    )
    idle: tuple[IdleTime, ...]
    after_waiting: Annotated[
        NonNegative, about("Idle time in gaps that began while the host waited for the GPU.")
    ] = field(name="after_waiting_ns")
    launches: NonNegative
    copied_bytes: NonNegative

    @property
    def busy(self) -> float:
        """The part of the time in which a kernel ran, 0 to 1."""
        return self.kernels / self.span if self.span else 0.0

    @property
    def idle_time(self) -> int:
        """The time in which nothing ran, in nanoseconds."""
        return sum(each.time for each in self.idle)

    def idle_while(self, *hosts: Idle) -> int:
        """The idle time in which the host did one of these, in nanoseconds."""
        return sum(each.time for each in self.idle if each.host in hosts)


class Owner(JsonStruct, frozen=True):
    """What launches belong to, with its share of all kernel time."""

    kind: Annotated[
        str, about("range (NVTX), module, line or operator (PyTorch), or function (Triton).")
    ]
    name: str
    place: Annotated[str, about("file:line, empty where it is not known.")]
    launches: NonNegative
    time: NonNegative = field(name="time_ns")
    share: Share


class SampledKernel(JsonStruct, frozen=True):
    """What samples of the whole GPU say of a kernel that ran meanwhile."""

    status: Annotated[str, about("bottleneck, at-limit or inconclusive, as in a verdict.")]
    bottleneck: Annotated[str | None, about("The bottleneck; null if inconclusive.")]
    lead: Annotated[
        str | None,
        about("The bottleneck that the busiest unit indicates; null if no unit is saturated."),
    ]
    units: Annotated[tuple[Evidence, ...], about("How busy units were, the busiest first.")]
    metrics: Annotated[
        dict[str, float], about("Keys are ncu's metric names; counts are per launch.")
    ]
    confidence: Annotated[
        str | None, added("medium if the rules decide the verdict, else low; null if inconclusive.")
    ] = None
    reason: Annotated[str | None, added("The basis of a low-confidence verdict.")] = None
    waits: Annotated[
        tuple[Evidence, ...], added("Longest waits of the kernel's warps, in percent of warp time.")
    ] = ()


class SurveyedKernel(JsonStruct, frozen=True):
    """A kernel in one launch configuration, over all its launches in the program."""

    name: str
    grid: KnownDimensions
    block: KnownDimensions
    devices: tuple[str, ...]
    launches: Positive
    time: Annotated[NonNegative, about("Total over all its launches.")] = field(name="time_ns")
    median: Nanoseconds = field(name="median_ns")
    share: Annotated[Share, about("Share of the total kernel time.")]
    in_graphs: Annotated[NonNegative, about("Launches that were part of a CUDA graph.")]
    measured: Annotated[NonNegative, about("Its measured launches.")] = 0
    owners: Annotated[tuple[Owner, ...], about("The code that accounts for most of its time.")] = ()
    sampled: Annotated[SampledKernel | None, added("null if this kernel has too few samples.")] = (
        None
    )


class ProgramAnswer(JsonStruct, frozen=True):
    """What holds the whole program back."""

    limit: Limit
    sentence: str
    evidence: tuple[Evidence, ...]
    advice: tuple[str, ...]


class Coverage(JsonStruct, frozen=True):
    """What of the surveyed kernels was measured; shares of the others are the survey's."""

    kernels: NonNegative
    launches: NonNegative
    share: Annotated[float, about("Share of the total kernel time that the measured kernels take.")]
    estimate: float = field(name="estimate_s")
    seconds: float
    budget: float = field(name="budget_s")


class Survey(JsonStruct, frozen=True, kw_only=True):
    """A whole program, recorded at nearly its own speed before its kernels were measured."""

    seconds: Annotated[float, about("How long the program ran.")]
    ended: Annotated[str, about("How the program ended; empty after a normal exit.")] = ""
    processes: NonNegative
    answer: ProgramAnswer | None
    gpus: Annotated[tuple[GpuTime, ...], about("Sorted by kernel time, longest first.")]
    kernels: Annotated[tuple[SurveyedKernel, ...], about("Sorted by time, longest first.")]
    groups: Annotated[tuple[Owner, ...], about("Grouped by kind, most time first.")]
    coverage: Annotated[Coverage | None, about("null where nothing was measured.")] = None
    warnings: tuple[str, ...] = ()


def to_bytes(survey: Survey) -> bytes:
    """A survey as its file holds it."""
    return to_json(survey).encode()


def from_bytes(data: bytes) -> Survey:
    """A survey out of its file; :class:`ValueError` where it is none."""
    return build(Survey, _with_units(read_object(data.decode("utf-8"))))


_UNITS: Final = {
    **dict.fromkeys(("time", "median", "start_up", "span", "copies", "after_waiting"), "ns"),
    **dict.fromkeys(("estimate", "budget"), "s"),
}


def _with_units(values: Any) -> Any:
    """Add the unit to the keys of times, which older files do not have."""
    if isinstance(values, list):
        return [_with_units(each) for each in values]
    if not isinstance(values, dict):
        return values
    units = _UNITS | {"kernels": "ns"} if "span" in values else _UNITS
    return {
        f"{key}_{units[key]}" if key in units else key: _with_units(each)
        for key, each in values.items()
    }
