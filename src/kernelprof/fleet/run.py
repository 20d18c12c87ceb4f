"""A plan, carried out: who each job is, what the store lacks of them, and that measured.

This process alone writes to the store, a file as soon as its job is done: whatever happens then,
what is stored stays, and is not measured again.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec

from kernelprof.errors import ErrorFacts, ExitCode, Interrupted
from kernelprof.fleet.database import query_store
from kernelprof.fleet.executor import Call, GpuDevice
from kernelprof.fleet.jobs import CAPTURE, Order, identify_jobs, measure_jobs
from kernelprof.fleet.query import find_outdated
from kernelprof.fleet.results import Done, FleetJob, FleetRun
from kernelprof.fleet.store import StoreError
from kernelprof.model.json_types import JsonDocument
from kernelprof.model.numbers import count
from kernelprof.tools import ask, git_command

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kernelprof.fleet.executor import CallOutcome, Executor
    from kernelprof.fleet.jobs import Identity
    from kernelprof.fleet.plan import FleetPlan, Job
    from kernelprof.fleet.records import MeasurementFile
    from kernelprof.fleet.store import FleetStore

Tell = Callable[[int, int, str], object]
"""Is told how many jobs have ended, of how many, and what ended last."""

_T = TypeVar("_T")

_AT_ONCE: Final = 16
"""Captures in a call: each takes 20 ms, and a call about one."""

_NOWHERE: Final = GpuDevice("", "")
"""In the place of a GPU for what needs none."""


@dataclass
class _Running:
    plan: FleetPlan
    store: FleetStore
    executor: Executor
    again: bool
    recorded: bool
    tell: Tell
    commit: str | None
    planned: int = 0
    done: list[FleetJob] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    failure: int = 0
    claimed: dict[str, str] = field(default_factory=dict)
    """The first job of each key, as it is shown."""
    outdated: frozenset[str] | None = None
    """Files that a newer measurement of other code follows; nothing before somebody asks."""

    def report_job(self, job: Job, device: GpuDevice, done: Done, **more: Any) -> None:
        self.done.append(FleetJob(job.shown(), device.name, done, **more))
        self.tell(len(self.done), self.planned, f"{job.shown()}: {done.value}")

    def report_error(
        self, job: Job, device: GpuDevice, failure: ErrorFacts, deaths: int = 0
    ) -> None:
        # A job has failed; a file in a folder of captures that is none was no job
        is_no_capture = (
            job.kind == "capture" and failure.exit_code == 2 and not Path(job.path).is_dir()
        )
        if not is_no_capture:
            self.failure = self.failure or failure.exit_code
        self.report_job(
            job,
            device,
            Done.LEFT_OUT if is_no_capture else Done.FAILED,
            why=" ".join(failure.what.split()),
            deaths=deaths,
        )

    def submit_all(self) -> None:
        kinds = tuple({each.name: each for each in self.executor.devices}.values())
        captures = [group[0] for group in self.plan.groups if group[0].kind == "capture"]
        others = [group for group in self.plan.groups if group[0].kind != "capture"]
        self.planned = len(captures) + len(kinds) * sum(map(len, others))
        for group in others:
            for device in kinds:
                self.executor.submit(Call(identify_jobs, (group, device)))
        for batch in _batches(captures, _AT_ONCE):
            self.executor.submit(Call(identify_jobs, (batch, _NOWHERE)))

    def process_outcome(self, outcome: CallOutcome) -> None:
        if outcome.call.function is identify_jobs:
            group, device = outcome.call.argument
            identities = [outcome.error] * len(group) if outcome.error else outcome.value
            self._submit_missing(group, device, identities)
            return
        order: Order = outcome.call.argument
        made = [outcome.error] if outcome.error else outcome.value
        for at, (job, _) in enumerate(order.jobs):
            # After a failure in a comparison the rest of it was not measured.
            each: MeasurementFile | ErrorFacts = made[min(at, len(made) - 1)]
            if isinstance(each, ErrorFacts):
                self.report_error(job, order.device, each, outcome.deaths)
                continue
            # A capture is there still, and diagnosed in less time than a disk may take. Another run
            # at the same time makes the same file of it
            file = self.store.add(each, sync=job.kind != "capture")
            done = Done.DIAGNOSED if job.kind == "capture" else Done.MEASURED
            if order.recorded and job.kind != "capture":
                done = Done.RECORDED
            self.report_job(job, order.device, done, file=file, deaths=outcome.deaths)

    def _submit_missing(
        self, group: tuple[Job, ...], device: GpuDevice, identities: list[Identity | ErrorFacts]
    ) -> None:
        wanted: list[tuple[Job, Identity]] = []
        for job, identity in zip(group, identities, strict=True):
            if isinstance(identity, ErrorFacts):
                self.report_error(job, device, identity)
            else:
                wanted.append((job, identity))
        together = group[0].against is not None
        if together and len(wanted) < len(group):
            for job, _ in wanted:
                what = "the other kernel of the comparison failed"
                self.failure = self.failure or int(ExitCode.BAD_INPUT)
                self.report_job(job, device, Done.FAILED, why=what)
            return
        # Of two that are compared both are measured, or neither
        batches = [
            batch
            for batch in ([wanted] if together else [[each] for each in wanted])
            if self._is_missing(batch, device)
        ]
        if device is _NOWHERE:
            batches = [list(batch) for batch in _batches(list(chain(*batches)), _AT_ONCE)]
        for batch in batches:
            order = Order(tuple(batch), self.plan.name, device, self.commit, self.recorded)
            on = None if device is _NOWHERE else device.name
            self.executor.submit(Call(measure_jobs, order, device=on))

    def _is_missing(self, jobs: list[tuple[Job, Identity]], device: GpuDevice) -> bool:
        # Whether jobs that belong together are to be measured; else why not is reported
        first = [self.claimed.get(identity.key) for _, identity in jobs]
        if None in first:
            self.claimed.update((identity.key, job.shown()) for job, identity in jobs)
            if not all(self._is_stored(identity) for _, identity in jobs):
                return True
        for (job, identity), same in zip(jobs, first, strict=True):
            done = Done.UNCHANGED if None in first else Done.SAME
            other = "is stored" if None in first else f"as {same}"
            self.report_job(job, device, done, why=f"the same {identity.code_of} {other}")
        return False

    def _is_stored(self, identity: Identity) -> bool:
        # Code may have been changed and changed back: the newest measurement is then of other code.
        if self.again:
            return False
        name, damaged = self.store.find(identity.key, recorded=self.recorded)
        self.warnings += [f"{each.file} is left out: {each.why}" for each in damaged]
        if name is None or identity.code_of == CAPTURE or self.recorded:
            return name is not None
        if self.outdated is None:
            self.outdated = query_store(self.store, find_outdated)
        return name not in self.outdated

    def result(self, started: datetime, **more: Any) -> FleetRun:
        return FleetRun(
            plan=self.plan.name,
            store=self.store.backend.shown,
            started=started.strftime("%Y-%m-%dT%H:%M:%SZ"),
            devices=tuple(each.name for each in self.executor.devices),
            workers=self.executor.workers,
            planned=self.planned,
            jobs=tuple(self.done),
            warnings=tuple(self.warnings),
            failure=self.failure,
            **more,
        )


def run_plan(
    plan: FleetPlan,
    store: FleetStore,
    executor: Executor,
    *,
    again: bool = False,
    recorded: bool = False,
    tell: Tell = lambda *_: None,
) -> FleetRun:
    """Carry out a plan with an executor that is entered already.

    ``again`` measures what is stored, too; ``recorded`` takes recorded captures. Failed jobs are
    among the results. Without room in the store and on Ctrl-C (:class:`Interrupted`) the run ends;
    another run of the plan goes on from what is stored.
    """
    started, clock = datetime.now(UTC), time.monotonic()
    commit = _commit(plan.path.absolute().parent)
    running = _Running(plan, store, executor, again, recorded, tell, commit)

    def result(**more: Any) -> FleetRun:
        return running.result(started, seconds=round(time.monotonic() - clock, 3), **more)

    try:
        running.submit_all()
        while executor.pending:
            running.process_outcome(executor.wait())
    except StoreError as error:
        return result(stopped=error.what)
    except BaseException as error:
        finished = result(interrupted=True)
        _store_run(store, finished)
        if isinstance(error, KeyboardInterrupt):
            done = f"{finished.stored:,} of {count(running.planned, 'job')} stored"
            raise Interrupted(f"{done}; run the plan again to continue") from error
        raise
    finished = result()
    _store_run(store, finished)
    return finished


def _store_run(store: FleetStore, finished: FleetRun) -> None:
    # A run's own entry in the store; one without failures says how many jobs, not which
    facts = msgspec.to_builtins(finished)
    for name in (*JsonDocument.__struct_fields__, "failure"):
        del facts[name]
    facts["jobs"] = [each for each in facts["jobs"] if each["done"] == Done.FAILED.value]
    facts["counts"] = {each.value: finished.count(each) for each in Done if finished.count(each)}
    store.add_run(facts)


def _commit(folder: Path) -> str | None:
    # The commit that is checked out where the plan is; with `+` where files were changed
    git = git_command(folder)
    if git is None:
        return None
    head = ask(*git, "rev-parse", "--verify", "HEAD")
    if head is None or head.returncode != 0:
        return None
    changed = ask(*git, "diff-index", "--quiet", "HEAD")
    mark = "+" if changed is not None and changed.returncode == 1 else ""
    return f"{head.stdout.strip()}{mark}"


def _batches(items: Sequence[_T], size: int) -> Iterator[tuple[_T, ...]]:
    for at in range(0, len(items), size):
        yield tuple(items[at : at + size])
