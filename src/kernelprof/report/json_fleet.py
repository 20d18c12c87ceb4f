"""The JSON of a fleet's commands: types, and how they are made of results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from msgspec import Meta

from kernelprof.fleet.results import Done, Heading
from kernelprof.model.json_types import VERSION, JsonStruct, NonNegative, Version, about
from kernelprof.report.json_diagnosis import TOOL, JsonDocument, ToolJson

if TYPE_CHECKING:
    from kernelprof.fleet.results import FleetRun, FleetStatus, FleetTable, JobDone, StoredRun

Seconds = Annotated[float, Meta(extra_json_schema={"minimum": 0})]
Timestamp = Annotated[str, about("UTC in ISO 8601")]
StorePath = Annotated[str, about("The folder or the URL of the store.")]


class FleetJobJson(JsonStruct, frozen=True):
    job: Annotated[str, about("Its name, with sizes and defines that the plan gives.")]
    gpu: Annotated[str, about("Empty where none is needed.")]
    done: Done
    why: Annotated[str, about("Why it failed or was skipped.")]
    file: Annotated[str | None, about("The file of the store, from the store's root.")]
    deaths: Annotated[NonNegative, about("Workers that died over it.")]


class FleetRunJson(JsonStruct, frozen=True):
    """What `kernelprof fleet run --format json` writes."""

    schema_version: Version
    kind: Literal["fleet_run"]
    tool: ToolJson
    plan: str
    store: StorePath
    started: Timestamp
    seconds: Seconds
    devices: Annotated[tuple[str, ...], about("A name for each GPU.")]
    workers: NonNegative
    planned: Annotated[NonNegative, about("Jobs, each on each kind of GPU.")]
    jobs: Annotated[list[FleetJobJson], about("Those that ended, in that order.")]
    warnings: tuple[str, ...]
    stopped: Annotated[str | None, about("Why nothing more could be stored.")]


class FleetAnswerJson(JsonStruct, frozen=True):
    question: str
    title: str
    columns: tuple[Heading, ...]
    rows: Annotated[
        tuple[tuple[Any, ...], ...],
        about("A value for each column; null is what is not known."),
    ]
    notes: tuple[str, ...]


class FleetQueryJson(FleetAnswerJson, frozen=True):
    """What `kernelprof fleet query --format json` writes."""

    schema_version: Version
    kind: Literal["fleet_query"]
    tool: ToolJson
    store: StorePath
    warnings: tuple[str, ...]


class RecentFleetRunJson(JsonStruct, frozen=True):
    plan: str
    started: Timestamp
    seconds: Seconds
    planned: NonNegative
    counts: Annotated[dict[str, int], about("How many jobs came to what.")]
    failed: list[FleetJobJson]
    interrupted: bool


class FleetStatusJson(JsonStruct, frozen=True):
    """What `kernelprof fleet status --format json` writes."""

    schema_version: Version
    kind: Literal["fleet_status"]
    tool: ToolJson
    store: StorePath
    holdings: FleetAnswerJson
    runs: Annotated[list[RecentFleetRunJson], about("The newest first.")]
    answers: list[FleetAnswerJson]
    planned: Annotated[NonNegative | None, about("Jobs of the plan; null where none was named.")]
    missing: Annotated[list[FleetJobJson] | None, about("Those of it that are not stored.")]
    recorded: Annotated[
        NonNegative | None, about("Jobs of it of which only a recorded capture is stored.")
    ]
    warnings: tuple[str, ...]


def _job_json(job: JobDone) -> FleetJobJson:
    return FleetJobJson(
        job=job.job, gpu=job.gpu, done=job.done, why=job.why, file=job.file, deaths=job.deaths
    )


def fleet_run_json(run: FleetRun) -> FleetRunJson:
    """Put what a run did into its document."""
    return FleetRunJson(
        schema_version=VERSION,
        kind="fleet_run",
        tool=TOOL,
        plan=run.plan,
        store=run.store,
        started=run.started,
        seconds=run.seconds,
        devices=run.devices,
        workers=run.workers,
        planned=run.planned,
        jobs=[_job_json(each) for each in run.jobs],
        warnings=run.warnings,
        stopped=run.stopped,
    )


def fleet_query_json(table: FleetTable) -> FleetQueryJson:
    """Put the answer to a question into its document."""
    return FleetQueryJson(
        question=table.question,
        title=table.title,
        columns=table.columns,
        rows=table.rows,
        notes=table.notes,
        schema_version=VERSION,
        kind="fleet_query",
        tool=TOOL,
        store=table.store,
        warnings=table.warnings,
    )


def _answer_json(table: FleetTable) -> FleetAnswerJson:
    return FleetAnswerJson(table.question, table.title, table.columns, table.rows, table.notes)


def _recent_run_json(run: StoredRun) -> RecentFleetRunJson:
    return RecentFleetRunJson(
        plan=run.plan,
        started=run.started,
        seconds=run.seconds,
        planned=run.planned,
        counts=run.counts,
        failed=[_job_json(each) for each in run.failed],
        interrupted=run.interrupted,
    )


def fleet_status_json(status: FleetStatus) -> FleetStatusJson:
    """Put what a store has into its document."""
    missing = status.missing
    return FleetStatusJson(
        schema_version=VERSION,
        kind="fleet_status",
        tool=TOOL,
        store=status.store,
        holdings=_answer_json(status.holdings),
        runs=[_recent_run_json(each) for each in status.runs],
        answers=[_answer_json(each) for each in status.answers],
        planned=status.planned,
        missing=None if missing is None else [_job_json(each) for each in missing],
        recorded=status.recorded,
        warnings=status.warnings,
    )


DOCUMENTS: Final = {
    "fleet_run": JsonDocument(FleetRunJson, fleet_run_json),
    "fleet_query": JsonDocument(FleetQueryJson, fleet_query_json),
    "fleet_status": JsonDocument(FleetStatusJson, fleet_status_json),
}
