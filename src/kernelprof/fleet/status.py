"""What a store has, what its runs did, and what of a plan it has not."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from kernelprof.fleet.database import query_store
from kernelprof.fleet.executor import Call, Executor, GpuDevice
from kernelprof.fleet.jobs import identify_jobs
from kernelprof.fleet.query import find_outdated
from kernelprof.fleet.results import (
    Done,
    FleetAnswer,
    FleetJob,
    FleetStatus,
    FleetTable,
    Heading,
    StoredRun,
)
from kernelprof.model.json_types import narrowed
from kernelprof.model.records import RecordError, build

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kernelprof.fleet.database import StoreConnection
    from kernelprof.fleet.plan import FleetPlan
    from kernelprof.fleet.store import FleetStore

_RUNS_SHOWN: Final = 10
_HOLDINGS: Final = "holdings"
_TITLE: Final = "What is stored"
_COLUMNS: Final = (
    Heading("gpu", title="GPU"),
    Heading("month", title="Month"),
    Heading("measurements", title="Measurements"),
    Heading("kernels", title="Kernels"),
    Heading("launches", title="Launches"),
    Heading("first", "date", "First"),
    Heading("last", "date", "Last"),
)


def describe_store(
    store: FleetStore, answers: Iterable[FleetTable] = (), *, cached: bool = True
) -> FleetStatus:
    """What is in a store, by GPU and month; :class:`InputError` for one without measurements."""

    def holdings(connection: StoreConnection) -> FleetTable:
        rows = connection.rows(
            """
            select gpu, strftime(created, '%Y-%m') as month, count(distinct (key, created)),
              count(distinct kernel), sum(launches)::bigint, min(created), max(created)
            from kernels group by all order by all
            """
        )
        return connection.table(_HOLDINGS, _TITLE, _COLUMNS, rows)

    held = query_store(store, holdings, cached=cached)
    return FleetStatus(
        store=held.store,
        holdings=narrowed(FleetAnswer, held),
        runs=tuple(_runs(store)),
        answers=tuple(narrowed(FleetAnswer, each) for each in answers),
        warnings=held.warnings,
    )


def describe_empty_store(store: FleetStore) -> FleetStatus:
    """The status of a store in which nothing was measured."""
    holdings = FleetAnswer(_HOLDINGS, _TITLE, _COLUMNS, ())
    return FleetStatus(store=store.backend.shown, holdings=holdings, runs=tuple(_runs(store)))


def _runs(store: FleetStore) -> Iterable[StoredRun]:
    for facts in store.runs(_RUNS_SHOWN):
        with suppress(RecordError):
            failed = facts.get("jobs")
            yield build(StoredRun, {**facts, "failed": failed})


def devices_of(store: FleetStore, wanted: Iterable[str]) -> tuple[GpuDevice, ...]:
    """The GPUs that a store has measurements of, with one of these parts in their names."""
    if not store.names():
        return ()
    parts = [each.lower() for each in wanted]
    sql = (
        "select distinct gpu, compute_capability from kernels "
        "where compute_capability is not null and {} order by all"
    )
    rows = query_store(
        store,
        lambda connection: (
            connection.rows(sql.format("not recorded")) or connection.rows(sql.format("true"))
        ),
    )
    return tuple(
        GpuDevice(gpu, capability)
        for gpu, capability in rows
        if not parts or any(part in gpu.lower() for part in parts)
    )


def find_missing(
    plan: FleetPlan, store: FleetStore, executor: Executor
) -> tuple[int, tuple[FleetJob, ...], int]:
    """Count the jobs of a plan, list those that a run would measure, and count recorded ones.

    On a GPU that is not in the store all jobs are missing.
    """
    devices = devices_of(store, plan.gpus)
    names = [each.name.lower() for each in devices]
    unknown = [
        pattern for pattern in plan.gpus if not any(pattern.lower() in name for name in names)
    ]
    if not plan.gpus and not devices:
        unknown = [""]
    lacking = [
        FleetJob(job.shown(), gpu, Done.FAILED)
        for gpu in unknown
        for job in plan.jobs
        if job.kind != "capture"
    ]
    planned, recorded = len(lacking), 0
    old = query_store(store, find_outdated) if store.names() else ()
    for group in plan.groups:
        for device in devices if group[0].kind != "capture" else (GpuDevice("", ""),):
            executor.submit(Call(identify_jobs, (group, device)))
    while executor.pending:
        outcome = executor.wait()
        group, device = outcome.call.argument
        identities: Any = [outcome.error] * len(group) if outcome.error else outcome.value
        for job, identity in zip(group, identities, strict=True):
            planned += 1
            if hasattr(identity, "key"):
                name = store.find(identity.key)[0]
                if name is not None and name not in old:
                    continue
                if name is None and store.find(identity.key, recorded=True)[0] is not None:
                    recorded += 1
                    continue
            why = "" if hasattr(identity, "key") else identity.what
            lacking.append(FleetJob(job.shown(), device.name, Done.FAILED, why))
    return planned, tuple(lacking), recorded
