"""The JSON of a fleet's commands; see :mod:`kernelprof.report.json_schema`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta

from kernelprof.fleet.results import Done  # noqa: TC001 (read for the schema)
from kernelprof.model.records import about
from kernelprof.report.json_schema_parts import Amount, Object, Tool, Version

Seconds = Annotated[float, Meta(ge=0)]
Moment = Annotated[str, about("UTC in ISO 8601")]
Place = Annotated[str, about("The folder or the URL of the store.")]


class FleetJob(Object):
    job: Annotated[str, about("Its name, with sizes and defines that the plan gives.")]
    gpu: Annotated[str, about("Empty where none is needed.")]
    done: Done
    why: Annotated[str, about("Why it failed or was skipped.")]
    file: Annotated[str | None, about("The file of the store, from the store's root.")]
    deaths: Annotated[Amount, about("Workers that died over it.")]


class FleetRun(Object):
    """What `kernelprof fleet run --format json` writes."""

    schema_version: Version
    kind: Literal["fleet_run"]
    tool: Tool
    plan: str
    store: Place
    started: Moment
    seconds: Seconds
    devices: Annotated[list[str], about("A name for each GPU.")]
    workers: Amount
    planned: Annotated[Amount, about("Jobs, each on each kind of GPU.")]
    jobs: Annotated[list[FleetJob], about("Those that ended, in that order.")]
    warnings: list[str]
    stopped: Annotated[str | None, about("Why nothing more could be stored.")]


class FleetColumn(Object):
    name: str
    unit: Annotated[str, about("ns, factor, date (ISO 8601), json, commit; empty for plain text.")]
    title: str


class FleetAnswer(Object):
    question: str
    title: str
    columns: list[FleetColumn]
    rows: Annotated[list[list[Any]], about("A value for each column; null is what is not known.")]
    notes: list[str]


class FleetQuery(FleetAnswer):
    """What `kernelprof fleet query --format json` writes."""

    schema_version: Version
    kind: Literal["fleet_query"]
    tool: Tool
    store: Place
    warnings: list[str]


class FleetRunKept(Object):
    plan: str
    started: Moment
    seconds: Seconds
    planned: Amount
    counts: Annotated[dict[str, int], about("How many jobs came to what.")]
    failed: list[FleetJob]
    interrupted: bool


class FleetStatus(Object):
    """What `kernelprof fleet status --format json` writes."""

    schema_version: Version
    kind: Literal["fleet_status"]
    tool: Tool
    store: Place
    holdings: FleetAnswer
    runs: Annotated[list[FleetRunKept], about("The newest first.")]
    answers: list[FleetAnswer]
    planned: Annotated[Amount | None, about("Jobs of the plan; null where none was named.")]
    missing: Annotated[list[FleetJob] | None, about("Those of it that are not stored.")]
    recorded: Annotated[
        Amount | None, about("Jobs of it of which only a recorded capture is stored.")
    ]
    warnings: list[str]
