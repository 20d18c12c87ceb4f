"""What a fleet's commands answer: plain values."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Literal

from msgspec import Meta

from kernelprof.errors import ExitCode
from kernelprof.model.json_types import (
    VERSION,
    JsonDocument,
    JsonStruct,
    NonNegative,
    Tool,
    Version,
    about,
)

Seconds = Annotated[float, Meta(extra_json_schema={"minimum": 0})]
Timestamp = Annotated[str, about("UTC in ISO 8601")]
StorePath = Annotated[str, about("The folder or the URL of the store.")]


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


class FleetJob(JsonStruct, frozen=True):
    job: Annotated[str, about("Job name, with the sizes and defines from the plan.")]
    gpu: Annotated[str, about("Empty if the job needs no GPU.")]
    done: Done
    why: Annotated[str, about("Why it failed or was skipped.")] = ""
    file: Annotated[str | None, about("Path of the stored file in the store.")] = None
    deaths: Annotated[NonNegative, about("Workers that died while running the job.")] = 0


class FleetRunJson(JsonDocument, frozen=True, kw_only=True):
    """What `kernelprof fleet run --format json` writes."""

    kind: Literal["fleet_run"] = "fleet_run"
    plan: str
    store: StorePath
    started: Timestamp
    seconds: Seconds
    devices: Annotated[tuple[str, ...], about("Name of each GPU.")]
    workers: NonNegative
    planned: Annotated[NonNegative, about("Number of jobs, each counted once per GPU model.")]
    jobs: Annotated[tuple[FleetJob, ...], about("Jobs that ended, in order of completion.")]
    warnings: tuple[str, ...] = ()
    stopped: Annotated[str | None, about("Why storing stopped early; null if it did not.")] = None


class FleetRun(FleetRunJson, frozen=True, kw_only=True):
    """What a run did; ``failure`` is the exit code of the first job that failed."""

    failure: int = 0
    interrupted: bool = False

    def count(self, done: Done) -> int:
        """How many jobs this became of."""
        return sum(each.done is done for each in self.jobs)

    @property
    def exit_code(self) -> int:
        """That of the first job that failed; 4 where something could not be stored."""
        if self.stopped is not None:
            return int(ExitCode.ENVIRONMENT)
        return self.failure

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
        str, about("ns, factor, date (ISO 8601), json or commit; empty for other columns.")
    ] = ""
    title: str = ""


class FleetAnswer(JsonStruct, frozen=True):
    question: str
    title: str
    columns: tuple[Heading, ...]
    rows: Annotated[
        tuple[tuple[Any, ...], ...],
        about("One value for each column; null if unknown."),
    ]
    notes: tuple[str, ...] = ()


class FleetTable(FleetAnswer, frozen=True, kw_only=True):
    """What `kernelprof fleet query --format json` writes."""

    schema_version: Version = VERSION
    kind: Literal["fleet_query"] = "fleet_query"
    tool: Tool = Tool()
    store: StorePath
    warnings: tuple[str, ...] = ()


class StoredRun(JsonStruct, frozen=True):
    """A run as the store remembers it."""

    plan: str
    started: Timestamp
    seconds: Seconds
    planned: NonNegative
    counts: Annotated[dict[str, int], about("Number of jobs by outcome.")]
    failed: tuple[FleetJob, ...]
    interrupted: bool


class FleetStatus(JsonDocument, frozen=True, kw_only=True):
    """What `kernelprof fleet status --format json` writes."""

    kind: Literal["fleet_status"] = "fleet_status"
    store: StorePath
    holdings: FleetAnswer
    runs: Annotated[tuple[StoredRun, ...], about("The newest first.")]
    answers: tuple[FleetAnswer, ...] = ()
    planned: Annotated[
        NonNegative | None, about("Jobs of the plan; null if no plan was named.")
    ] = None
    missing: Annotated[
        tuple[FleetJob, ...] | None,
        about("Jobs with neither a current measurement nor a recorded capture in the store."),
    ] = None
    recorded: Annotated[
        NonNegative | None, about("Jobs of the plan with only a recorded capture in the store.")
    ] = None
    warnings: tuple[str, ...] = ()
