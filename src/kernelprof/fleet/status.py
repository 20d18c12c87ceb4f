"""What a store has, what its runs did, and what of a plan it has not."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from kernelprof.fleet.ask import answered, plain
from kernelprof.fleet.devices import Device
from kernelprof.fleet.executor import Call, Executor
from kernelprof.fleet.results import Done, FleetStatus, FleetTable, Heading, JobDone, RunKept
from kernelprof.fleet.series import outdated
from kernelprof.fleet.work import identified
from kernelprof.model.records import RecordError, build

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kernelprof.fleet.ask import Questions
    from kernelprof.fleet.plan import Plan
    from kernelprof.fleet.store import Store

_RUNS_SHOWN: Final = 10
_COLUMNS: Final = (
    Heading("gpu", title="GPU"),
    Heading("month", title="Month"),
    Heading("measurements", title="Measurements"),
    Heading("kernels", title="Kernels"),
    Heading("launches", title="Launches"),
    Heading("first", "date", "First"),
    Heading("last", "date", "Last"),
)


def status(store: Store, answers: Iterable[FleetTable] = (), *, cached: bool = True) -> FleetStatus:
    """What is in a store, by GPU and month; :class:`InputError` for one without measurements."""

    def holdings(found: Questions) -> FleetTable:
        rows = found.rows(
            """
            select gpu, strftime(created, '%Y-%m') as month, count(distinct (key, created)),
              count(distinct kernel), sum(launches)::bigint, min(created), max(created)
            from kernels group by all order by all
            """
        )
        return _held(store, rows, found.warnings)

    held = answered(store, holdings, cached=cached)
    return FleetStatus(
        store.place.shown, held, tuple(_runs(store)), tuple(answers), warnings=held.warnings
    )


def empty(store: Store) -> FleetStatus:
    """The status of a store in which nothing was measured."""
    return FleetStatus(store.place.shown, _held(store), tuple(_runs(store)))


def _held(store: Store, rows: Iterable[Any] = (), warnings: tuple[str, ...] = ()) -> FleetTable:
    return FleetTable(
        "holdings",
        store.place.shown,
        "What is stored",
        _COLUMNS,
        tuple(tuple(map(plain, row)) for row in rows),
        warnings=warnings,
    )


def _runs(store: Store) -> Iterable[RunKept]:
    for facts in store.runs(_RUNS_SHOWN):
        with suppress(RecordError):
            failed = facts.get("jobs")
            yield build(RunKept, {**facts, "failed": failed})


def devices_of(store: Store, wanted: Iterable[str]) -> tuple[Device, ...]:
    """The GPUs that a store has measurements of, with one of these parts in their names."""
    if not store.names():
        return ()
    parts = [each.lower() for each in wanted]
    known = (
        "select distinct gpu, compute_capability from kernels "
        "where compute_capability is not null and {} order by all"
    )
    rows = answered(
        store,
        lambda found: found.rows(known.format("not recorded")) or found.rows(known.format("true")),
    )
    return tuple(
        Device(gpu, _pair(capability))
        for gpu, capability in rows
        if not parts or any(part in gpu.lower() for part in parts)
    )


def _pair(capability: str) -> tuple[int, int]:
    major, _, minor = capability.partition(".")
    return int(major), int(minor)


def missing(plan: Plan, store: Store, executor: Executor) -> tuple[int, tuple[JobDone, ...], int]:
    """How many jobs a plan has, those that a run would measure, and how many are only recorded.

    On a GPU that the store does not know all jobs are missing: nothing need be compiled for that.
    """
    devices = devices_of(store, plan.gpus)
    names = [each.name.lower() for each in devices]
    unknown = [part for part in plan.gpus if not any(part.lower() in name for name in names)]
    if not plan.gpus and not devices:
        unknown = [""]
    open_ = [
        JobDone(job.shown(), gpu, Done.FAILED)
        for gpu in unknown
        for job in plan.jobs
        if job.kind != "capture"
    ]
    planned, recorded = len(open_), 0
    old = answered(store, outdated) if store.names() else ()
    for group in plan.groups:
        for device in devices if group[0].kind != "capture" else (Device("", (0, 0)),):
            executor.submit(Call(identified, (group, device), (group, device)))
    while executor.pending:
        outcome = executor.wait()
        group, device = outcome.call.label
        known: Any = [outcome.error] * len(group) if outcome.error else outcome.value
        for job, who in zip(group, known, strict=True):
            planned += 1
            if hasattr(who, "key"):
                measured = store.holds(who.key)[0]
                if measured is not None and measured not in old:
                    continue
                if measured is None and store.holds(who.key, recorded=True)[0] is not None:
                    recorded += 1
                    continue
            why = "" if hasattr(who, "key") else who.what
            open_.append(JobDone(job.shown(), device.name, Done.FAILED, why))
    return planned, tuple(open_), recorded
