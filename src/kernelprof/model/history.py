"""Kernels over time: what was measured when, and what changed from one time to the next."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, ClassVar

from kernelprof.model.json_types import JsonStruct, about
from kernelprof.model.snapshot import (
    Acceptance,
    KernelSnapshot,
    MeasurementSetup,
)

if TYPE_CHECKING:
    from kernelprof.model.comparison import CounterChange, TimeChange


Date = Annotated[
    str,
    about(
        "When the capture was made, or the baseline was saved or committed, in UTC.",
        pattern="^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$",
    ),
]


class HistoryOrigin(StrEnum):
    """Where a history comes from."""

    FOLDER = "folder"
    GIT = "git"


class MomentKind(StrEnum):
    """What a moment was read from."""

    CAPTURE = "capture"
    BASELINE = "baseline"


class Commit(JsonStruct, frozen=True):
    """The commit that a baseline was read from."""

    sha: str
    subject: str


class MomentJson(JsonStruct, frozen=True):
    """A capture, or a baseline as it was at one time."""

    date: Date
    origin: Annotated[
        str,
        about("Path relative to the history's folder; COMMIT:PATH for a baseline read from git."),
    ]
    kind: MomentKind
    commit: Annotated[Commit | None, about("The commit of a baseline read from git.")]


class Moment(MomentJson, frozen=True, kw_only=True):
    """The same with what was measured."""

    machine: MeasurementSetup
    kernels: tuple[KernelSnapshot, ...]
    accepted: tuple[Acceptance, ...] = ()
    commit: Commit | None = None


@dataclass(frozen=True, slots=True)
class HistoryRow:
    """One measurement of a kernel.

    ``against`` is the last measurement before it on the same GPU, to which ``time``, the counters
    and the verdict are compared; it is ``None`` for the first one there. ``next_to`` says whether
    that is the row before. ``low_ns`` and ``high_ns`` have 90 % of the launches between them.
    """

    moment: Moment
    kernel: KernelSnapshot
    low_ns: float | None
    high_ns: float | None
    accepted: tuple[Acceptance, ...]
    against: Moment | None = None
    next_to: bool = False
    time: TimeChange | None = None
    verdict_changed: bool = False
    counters: tuple[CounterChange, ...] = ()
    lacking: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class KernelHistory:
    """A kernel's measurements, the oldest first.

    ``detail`` tells kernels of one name apart: their sizes, or how they are launched. ``older`` are
    the rows before those that were asked for.
    """

    name: str
    detail: str
    rows: tuple[HistoryRow, ...]
    older: int = 0


@dataclass(frozen=True, slots=True)
class History:
    """All kernels of a folder or of a baseline's commits, those that take most time first.

    ``moments`` is how many captures, baselines and commits were read, ``baselines`` how many of
    them are not captures.
    """

    kind: ClassVar[str] = "history"

    origin: str
    source: HistoryOrigin
    moments: int
    baselines: int
    kernels: tuple[KernelHistory, ...]
    notes: tuple[str, ...] = ()
