"""Many kernels on many GPUs: a plan's run, the store's status, and questions to it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from msgspec import structs

from kernelprof.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernelprof.fleet.executor import Executor
    from kernelprof.fleet.plan import FleetPlan
    from kernelprof.fleet.results import FleetRun, FleetStatus, FleetTable
    from kernelprof.fleet.run import Tell
    from kernelprof.fleet.store import FleetStore
    from kernelprof.results import PathLike

PLANS: Final = ".toml"


def run(
    plan: PathLike,
    *,
    store: str | None = None,
    ray: str | None = None,
    workers: int | None = None,
    again: bool = False,
    recorded: bool = False,
    tell: Tell = lambda *_: None,
    ray_options: dict[str, Any] | None = None,
) -> FleetRun:
    """Measure what a plan names and the store has not, and store it.

    Without ``ray`` that is done by processes of this machine, one a GPU, and ``workers`` beside
    them; with it by the cluster at that address, or by a Ray that is started here (``local``).
    ``again`` measures what is stored, too. With ``recorded`` nothing is measured: captures that
    ship with kernelprof stand in, as ``workers`` GPUs. ``tell`` hears what has ended.
    """
    from kernelprof.fleet.plan import read_plan

    wanted = read_plan(Path(plan))  # before numpy is loaded, which running it takes
    from kernelprof.fleet.executor import (
        LocalExecutor,
        local_devices,
        recorded_devices,
        select_devices,
    )
    from kernelprof.fleet.ray_executor import RayExecutor
    from kernelprof.fleet.run import run_plan as carry_out

    target = _store(wanted, store)
    worker_count = workers or os.cpu_count() or 1
    if all(job.kind == "capture" for job in wanted.jobs):
        devices: Sequence[Any] = ()
    elif recorded:
        devices = select_devices(recorded_devices(), wanted.gpus) * worker_count
    else:
        devices = () if ray else select_devices(local_devices(), wanted.gpus)
    executor: Executor
    if ray is None:
        executor = LocalExecutor(devices, worker_count, wanted.retries)
    else:
        gpus = any(job.kind != "capture" for job in wanted.jobs) and not recorded
        executor = RayExecutor(
            ray,
            wanted.gpus if gpus else None,
            workers,
            wanted.retries,
            recorded=devices,
            options=ray_options,
        )
    with executor:
        return carry_out(wanted, target, executor, again=again, recorded=recorded, tell=tell)


def status(
    target: str, *, store: str | None = None, answers: bool = False, cache: bool = True
) -> FleetStatus:
    """What a store has; ``target`` is it, or a plan, of which it says what is missing.

    With ``answers`` also those to the usual questions. Without ``cache`` every file is read.
    """
    from kernelprof.fleet.executor import LocalExecutor
    from kernelprof.fleet.query import QUESTIONS, QueryFilters, ask
    from kernelprof.fleet.status import describe_empty_store, describe_store, find_missing

    plan, fleet_store = _both(target, store)
    if plan is not None and not fleet_store.names():
        result = describe_empty_store(fleet_store)
    else:
        made = (
            [ask(fleet_store, each, QueryFilters(), cached=cache) for each in QUESTIONS]
            if answers
            else []
        )
        result = describe_store(fleet_store, made, cached=cache)
    if plan is None:
        return result
    with LocalExecutor((), os.cpu_count() or 1, plan.retries) as executor:
        planned, lacking, recorded = find_missing(plan, fleet_store, executor)
    return structs.replace(result, planned=planned, missing=lacking, recorded=recorded)


def query(
    target: str,
    question: str | None = None,
    *,
    sql: str | None = None,
    store: str | None = None,
    kernel: str | None = None,
    gpu: str | None = None,
    since: str | None = None,
    limit: int = 20,
    cache: bool = True,
) -> FleetTable:
    """The answer to one of the usual questions, or to ``sql`` over the store's views.

    ``target`` is a store or a plan that names one. Without ``cache`` every file is read.
    """
    from kernelprof.fleet.query import QueryFilters, ask, ask_sql

    if (question is None) == (sql is None):
        raise UsageError(
            "no question is given" if sql is None else "a question and --sql cannot be combined",
            hint=f"ask one of {', '.join(questions())}, or use --sql",
        )
    given = {"--kernel": kernel, "--gpu": gpu, "--since": since}
    if sql is not None and (unused := [name for name, each in given.items() if each is not None]):
        raise UsageError(
            f"--sql cannot be combined with {' and '.join(unused)}",
            hint="write the condition into the query, for example: WHERE gpu LIKE '%H200%'",
        )
    fleet_store = _both(target, store)[1]
    if sql is not None:
        return ask_sql(fleet_store, sql, limit, cached=cache)
    assert question is not None
    return ask(fleet_store, question, QueryFilters(kernel, gpu, since, limit), cached=cache)


def questions() -> tuple[str, ...]:
    """The names of the usual questions."""
    from kernelprof.fleet.query import QUESTIONS

    return tuple(QUESTIONS)


def _both(target: str, store: str | None) -> tuple[FleetPlan | None, FleetStore]:
    from kernelprof.fleet.plan import read_plan
    from kernelprof.fleet.store import FleetStore

    if not target.endswith(PLANS):
        return None, FleetStore.at(store or target)
    plan = read_plan(Path(target))
    return plan, _store(plan, store)


def _store(plan: FleetPlan, other: str | None) -> FleetStore:
    from kernelprof.fleet.store import FleetStore

    where = other or plan.store
    if where is None:
        raise UsageError(
            "the plan names no store",
            where=str(plan.path),
            hint='write store = "FOLDER" into the plan, or use --store FOLDER',
        )
    return FleetStore.at(where)
