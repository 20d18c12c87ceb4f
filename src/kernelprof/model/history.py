"""Kernels over time: what was measured when, and what changed from one time to the next."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from kernelprof.model.snapshot import (  # noqa: TC001 (a record's types are read)
    KernelSnapshot,
    Machine,
)

if TYPE_CHECKING:
    from kernelprof.model.comparison import CounterChange, TimeChange


class Source(StrEnum):
    """Where a history comes from."""

    FOLDER = "folder"
    GIT = "git"


class Kind(StrEnum):
    """What a moment was read from."""

    CAPTURE = "capture"
    BASELINE = "baseline"


@dataclass(frozen=True, slots=True)
class Commit:
    """The commit that a baseline was read from."""

    sha: str
    short: str
    subject: str


@dataclass(frozen=True, slots=True)
class Accepted:
    """A regression that somebody accepted. ``after_ns`` tells which measurement it was about."""

    kernel: str
    when: str
    who: str
    reason: str
    after_ns: float | None = None


@dataclass(frozen=True, slots=True)
class Moment:
    """A capture, or a baseline as it was at one time. ``date`` is ``YYYY-MM-DDTHH:MM:SSZ``."""

    date: str
    origin: str
    kind: str
    machine: Machine
    kernels: tuple[KernelSnapshot, ...]
    accepted: tuple[Accepted, ...] = ()
    commit: Commit | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """One measurement of a kernel.

    ``against`` is the last measurement before it on the same GPU, to which ``time``, the counters
    and the verdict are compared; it is ``None`` for the first one there. ``next_to`` says whether
    that is the row before. ``low_ns`` and ``high_ns`` have 90 % of the launches between them.
    """

    moment: Moment
    kernel: KernelSnapshot
    low_ns: float | None
    high_ns: float | None
    against: Moment | None
    next_to: bool
    time: TimeChange | None
    verdict_changed: bool
    counters: tuple[CounterChange, ...]
    lacking: tuple[str, ...]
    accepted: tuple[Accepted, ...]


@dataclass(frozen=True, slots=True)
class KernelHistory:
    """A kernel's measurements, the oldest first.

    ``detail`` tells kernels of one name apart: their sizes, or how they are launched. ``older`` are
    the rows before those that were asked for.
    """

    name: str
    detail: str
    rows: tuple[Row, ...]
    older: int = 0


@dataclass(frozen=True, slots=True)
class History:
    """All kernels of a folder or of a baseline's commits, those that take most time first.

    ``moments`` are the captures, baselines and commits that were read, and ``baselines`` those of
    them that are no captures.
    """

    origin: str
    source: Source
    moments: int
    baselines: int
    kernels: tuple[KernelHistory, ...]
    notes: tuple[str, ...] = ()
