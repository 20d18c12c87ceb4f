"""What is known of a program before its kernels are measured: plain values for every output."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from kernelprof.model.evidence import Evidence  # noqa: TC001 (a record's types are read)
from kernelprof.model.records import build, read_object, to_json


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


@dataclass(frozen=True, slots=True)
class IdleTime:
    """Nanoseconds in which nothing ran on a GPU, by what the host did meanwhile."""

    host: Idle
    time: int


@dataclass(frozen=True, slots=True)
class GpuTime:
    """How one GPU spent the time once a program had settled, in nanoseconds.

    ``start_up`` is the time from its first activity until a tenth of its launches were made, and
    ``span`` that from there to the end of its last kernel, of which the others are parts.
    ``kernels`` is the time in which at least one kernel ran, ``copies`` that in which there were
    only copies and memsets, ``idle`` the rest by what the host did. ``after_waiting`` is the part
    of it in gaps that began while the host waited for the GPU.
    """

    device: int
    name: str
    start_up: int
    span: int
    kernels: int
    copies: int
    idle: tuple[IdleTime, ...]
    after_waiting: int
    launches: int
    copied_bytes: int

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


@dataclass(frozen=True, slots=True)
class Owner:
    """What launches belong to: an NVTX range, a module, a line, an operator or a function.

    ``place`` is ``file:line`` where that is known, ``share`` a part of all kernel time.
    """

    kind: str
    name: str
    place: str
    launches: int
    time: int
    share: float


@dataclass(frozen=True, slots=True)
class SurveyedKernel:
    """One kernel in one configuration. Times are in nanoseconds.

    ``share`` is its part of the time of all kernels, which may overlap. ``owners`` are what most
    of its time belongs to. ``measured`` is the number of its launches that were measured.
    """

    name: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    devices: tuple[str, ...]
    launches: int
    time: int
    median: float
    share: float
    in_graphs: int
    owners: tuple[Owner, ...] = ()
    measured: int = 0


@dataclass(frozen=True, slots=True)
class ProgramAnswer:
    """What holds the whole program back: a sentence, what it rests on, and the way out."""

    limit: Limit
    sentence: str
    evidence: tuple[Evidence, ...]
    advice: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Coverage:
    """What of the surveyed kernels was measured.

    ``share`` is the part of all kernel time that the measured kernels have. ``estimate`` and
    ``seconds`` are what measuring was thought to take and took. ``left`` says what was left out and
    why.
    """

    kernels: int
    launches: int
    share: float
    estimate: float
    seconds: float
    budget: float
    left: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Survey:
    """A whole program: how busy its GPUs were, what it launched, and what that belongs to.

    ``seconds`` is how long the program ran, ``ended`` says how: an empty text where it ended by
    itself with success. ``kernels`` and ``groups`` have those with the most time first.
    ``coverage`` is ``None`` where nothing was measured.
    """

    seconds: float
    processes: int
    gpus: tuple[GpuTime, ...]
    kernels: tuple[SurveyedKernel, ...]
    groups: tuple[Owner, ...]
    answer: ProgramAnswer | None
    ended: str = ""
    coverage: Coverage | None = None
    warnings: tuple[str, ...] = ()


def to_bytes(survey: Survey) -> bytes:
    """A survey as its file holds it."""
    return to_json(survey).encode()


def from_bytes(data: bytes) -> Survey:
    """A survey out of its file; :class:`ValueError` where it is none."""
    return build(Survey, read_object(data.decode("utf-8")))
