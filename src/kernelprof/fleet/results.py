"""What a fleet's commands answer: plain values."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, ClassVar

from kernelprof.errors import ExitCode
from kernelprof.model.json_types import JsonStruct, about


class Done(StrEnum):
    """What became of a job."""

    MEASURED = "measured"
    RECORDED = "recorded"
    """A recorded capture stands in for a measurement."""
    DIAGNOSED = "diagnosed"
    """A capture that existed."""
    UNCHANGED = "unchanged"
    """The store has a measurement of the same machine code and launch."""
    SAME = "same"
    """Another job of the plan has the same machine code and launch."""
    LEFT_OUT = "left out"
    """A file beside captures that is none."""
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class JobDone:
    """A job on a GPU, and what became of it; ``why`` is of a failure or of what was skipped."""

    job: str
    gpu: str
    done: Done
    why: str = ""
    exit_code: int = 0
    file: str | None = None
    deaths: int = 0


@dataclass(frozen=True, slots=True)
class FleetRun:
    """What a run did; ``jobs`` are those that ended, in that order. ``times`` are ISO 8601, UTC."""

    kind: ClassVar[str] = "fleet_run"

    plan: str
    store: str
    started: str
    seconds: float
    devices: tuple[str, ...]
    workers: int
    planned: int
    jobs: tuple[JobDone, ...]
    warnings: tuple[str, ...] = ()
    interrupted: bool = False
    stopped: str | None = None
    """Why nothing more could be stored."""

    def count(self, done: Done) -> int:
        """How many jobs this became of."""
        return sum(each.done is done for each in self.jobs)

    @property
    def exit_code(self) -> int:
        """That of the first job that failed; 4 where something could not be stored."""
        if self.stopped is not None:
            return int(ExitCode.ENVIRONMENT)
        return next((each.exit_code for each in self.jobs if each.exit_code), 0)

    @property
    def stored(self) -> int:
        """Jobs that this run stored."""
        return sum(self.count(each) for each in (Done.MEASURED, Done.RECORDED, Done.DIAGNOSED))

    @property
    def open(self) -> int:
        """Jobs that did not end; another run begins with them."""
        return self.planned - len(self.jobs)


class Heading(JsonStruct, frozen=True):
    """A column of an answer: its name, its unit, and what it is."""

    name: str
    unit: Annotated[
        str, about("ns, factor, date (ISO 8601), json, commit; empty for plain text.")
    ] = ""
    title: str = ""


@dataclass(frozen=True, slots=True)
class FleetTable:
    """The answer to a question: rows of plain values, ``None`` for what is not known."""

    kind: ClassVar[str] = "fleet_query"

    question: str
    store: str
    title: str
    columns: tuple[Heading, ...]
    rows: tuple[tuple[Any, ...], ...]
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StoredRun:
    """A run as the store remembers it: how many jobs came to what, and those that failed."""

    plan: str
    started: str
    seconds: float
    planned: int
    counts: dict[str, int]
    failed: tuple[JobDone, ...]
    interrupted: bool


@dataclass(frozen=True, slots=True)
class FleetStatus:
    """What a store has, what its newest runs did, and what of a plan it lacks, if one is named."""

    kind: ClassVar[str] = "fleet_status"

    store: str
    holdings: FleetTable
    runs: tuple[StoredRun, ...]
    answers: tuple[FleetTable, ...] = ()
    planned: int | None = None
    missing: tuple[JobDone, ...] | None = None
    recorded: int | None = None
    warnings: tuple[str, ...] = ()
