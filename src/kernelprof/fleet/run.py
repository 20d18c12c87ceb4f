"""A plan, carried out: who each job is, what the store lacks of them, and that measured.

This process alone writes to the store, a file as soon as its job is done: whatever happens then,
what is stored stays, and is not measured again.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from kernelprof.errors import Interrupted
from kernelprof.fleet.ask import answered
from kernelprof.fleet.code import CAPTURE
from kernelprof.fleet.devices import Device
from kernelprof.fleet.executor import Call, Failure
from kernelprof.fleet.places import StoreError
from kernelprof.fleet.results import Done, FleetRun, JobDone
from kernelprof.fleet.series import outdated
from kernelprof.fleet.work import Order, identified, measured
from kernelprof.model.numbers import count
from kernelprof.tools import ask, which

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kernelprof.fleet.code import Identity
    from kernelprof.fleet.executor import Executor, Outcome
    from kernelprof.fleet.plan import Job, Plan
    from kernelprof.fleet.records import Record
    from kernelprof.fleet.store import Store

Tell = Callable[[int, int, str], object]
"""Is told how many jobs have ended, of how many, and what ended last."""

_T = TypeVar("_T")

_AT_ONCE: Final = 16
"""Captures in a call: each takes 20 ms, and a call about one."""

_NOWHERE: Final = Device("", (0, 0))
"""In the place of a GPU for what needs none."""


@dataclass(frozen=True, slots=True)
class Options:
    """``again`` measures what is stored, too; ``recorded`` takes recorded captures."""

    again: bool = False
    recorded: bool = False


@dataclass
class _Running:
    """A run that goes on."""

    plan: Plan
    store: Store
    executor: Executor
    options: Options
    tell: Tell
    planned: int
    commit: str | None
    done: list[JobDone] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    claimed: dict[str, str] = field(default_factory=dict)
    """The first job of each key, as it is shown."""
    outdated: frozenset[str] | None = None
    """Files that a newer measurement of other code follows; nothing before somebody asks."""

    def ended(self, job: Job, device: Device, done: Done, **more: Any) -> None:
        """A job has ended."""
        self.done.append(JobDone(job.shown(), device.name, done, **more))
        self.tell(len(self.done), self.planned, f"{job.shown()}: {done.value}")

    def failed(self, job: Job, device: Device, failure: Failure, deaths: int = 0) -> None:
        """A job has failed; a file in a folder of captures that is none was no job."""
        beside = job.kind == "capture" and failure.exit_code == 2 and not Path(job.path).is_dir()
        self.ended(
            job,
            device,
            Done.LEFT_OUT if beside else Done.FAILED,
            why=" ".join(failure.what.split()),
            exit_code=0 if beside else failure.exit_code,
            deaths=deaths,
        )


def run(
    plan: Plan,
    store: Store,
    executor: Executor,
    options: Options = Options(),
    tell: Tell = lambda *_: None,
) -> FleetRun:
    """Carry out a plan with an executor that is entered already.

    A job that fails is among the results, and the others go on. Where nothing can be stored any
    more, and on Ctrl-C (:class:`Interrupted`), the run ends there: what is stored is complete, and
    a run of the same plan goes on from it.
    """
    started, clock = datetime.now(UTC), time.monotonic()
    kinds = tuple({each.name: each for each in executor.devices}.values())
    groups = [
        (group, device)
        for group in plan.groups
        for device in ((_NOWHERE,) if group[0].kind == "capture" else kinds)
    ]
    planned = sum(len(group) for group, _ in groups)
    running = _Running(
        plan, store, executor, options, tell, planned, _commit(plan.path.absolute().parent)
    )
    stopped, interrupted = None, False

    def result() -> FleetRun:
        return FleetRun(
            plan=plan.name,
            store=store.place.shown,
            started=started.strftime("%Y-%m-%dT%H:%M:%SZ"),
            seconds=round(time.monotonic() - clock, 3),
            devices=tuple(each.name for each in executor.devices),
            workers=executor.workers,
            planned=planned,
            jobs=tuple(running.done),
            warnings=tuple(running.warnings),
            interrupted=interrupted,
            stopped=stopped,
        )

    try:
        _identify(running, groups)
        while executor.pending:
            _heard(running, executor.wait())
    except StoreError as error:
        stopped = error.what
    except BaseException as error:
        interrupted = True
        _kept(store, result())
        if isinstance(error, KeyboardInterrupt):
            done = f"{result().stored:,} of {count(planned, 'job')} stored"
            raise Interrupted(f"{done}; run it again to go on") from error
        raise
    found = result()
    if stopped is None:
        _kept(store, found)
    return found


def _kept(store: Store, found: FleetRun) -> None:
    """A run's own entry in the store; one without failures says how many jobs, not which."""
    facts = asdict(found)
    facts["jobs"] = [each for each in facts["jobs"] if each["done"] == Done.FAILED.value]
    facts["counts"] = {each.value: found.count(each) for each in Done if found.count(each)}
    store.add_run(facts)


def _identify(running: _Running, groups: list[tuple[tuple[Job, ...], Device]]) -> None:
    """Have everybody identified; captures many at a time, in the order of the plan."""
    captures = [group[0] for group, device in groups if device is _NOWHERE]
    for group, device in groups:
        if device is not _NOWHERE:
            running.executor.submit(Call(identified, (group, device), (group, device)))
    for some in _batches(captures, _AT_ONCE):
        running.executor.submit(Call(identified, (some, _NOWHERE), (some, _NOWHERE)))


def _heard(running: _Running, outcome: Outcome) -> None:
    """Something ended: what was identified is measured or skipped, what was measured is stored."""
    if outcome.call.function is identified:
        group, device = outcome.call.label
        known = [outcome.error] * len(group) if outcome.error else outcome.value
        _next(running, group, device, known)
        return
    order: Order = outcome.call.argument
    made = [outcome.error] if outcome.error else outcome.value
    for at, (job, _) in enumerate(order.jobs):
        # After a failure in a comparison the rest of it was not measured.
        each: Record | Failure = made[min(at, len(made) - 1)]
        if isinstance(each, Failure):
            running.failed(job, order.device, each, outcome.deaths)
            continue
        # A capture is there still, and diagnosed in less time than a disk may take.
        file = running.store.add(each, sync=job.kind != "capture")
        done = Done.DIAGNOSED if job.kind == "capture" else Done.MEASURED
        if order.recorded and job.kind != "capture":
            done = Done.RECORDED
        running.ended(job, order.device, done, file=file, deaths=outcome.deaths)


def _next(
    running: _Running,
    group: tuple[Job, ...],
    device: Device,
    known: list[Identity | Failure],
) -> None:
    """Have those of a group measured that the store has not."""
    wanted: list[tuple[Job, Identity]] = []
    together = group[0].against is not None
    for job, identity in zip(group, known, strict=True):
        if isinstance(identity, Failure):
            running.failed(job, device, identity)
        else:
            wanted.append((job, identity))
    if together:
        _compared(running, wanted, device, complete=len(wanted) == len(group))
        return
    open_ = []
    for job, who in wanted:
        if who.key in running.claimed:
            _same(running, job, device, who)
            continue
        running.claimed[who.key] = job.shown()
        if _has(running, who):
            _skip(running, job, device, who)
        else:
            open_.append((job, who))
    size = _AT_ONCE if device is _NOWHERE else 1
    for some in _batches(open_, size):
        _submit(running, list(some), device)


def _compared(
    running: _Running, wanted: list[tuple[Job, Identity]], device: Device, *, complete: bool
) -> None:
    """Of two that are compared both are measured, or neither."""
    same = complete and all(who.key in running.claimed for _, who in wanted)
    if complete and not same:
        running.claimed.update((who.key, job.shown()) for job, who in wanted)
        if not all(_has(running, who) for _, who in wanted):
            _submit(running, wanted, device)
            return
    for job, who in wanted:
        if same:
            _same(running, job, device, who)
        else:
            _skip(running, job, device, who, failed=not complete)


def _same(running: _Running, job: Job, device: Device, who: Identity) -> None:
    first = running.claimed[who.key]
    running.ended(job, device, Done.SAME, why=f"the same {who.code_of} as {first}")


def _has(running: _Running, who: Identity) -> bool:
    """Whether the store has a whole file of a key; one that is damaged is told, and made again.

    Where the code was changed since, and changed back, the newest measurement is of other code.
    """
    if running.options.again:
        return False
    name, damaged = running.store.holds(who.key, recorded=running.options.recorded)
    running.warnings += [f"{each.file} is left out: {each.why}" for each in damaged]
    if name is None or who.code_of == CAPTURE or running.options.recorded:
        return name is not None
    if running.outdated is None:
        running.outdated = answered(running.store, outdated)
    return name not in running.outdated


def _skip(
    running: _Running, job: Job, device: Device, who: Identity, *, failed: bool = False
) -> None:
    if failed:
        what = "the kernel that it is compared with failed"
        running.ended(job, device, Done.FAILED, why=what, exit_code=2)
        return
    running.ended(job, device, Done.UNCHANGED, why=f"the same {who.code_of} is stored")


def _submit(running: _Running, jobs: list[tuple[Job, Identity]], device: Device) -> None:
    order = Order(tuple(jobs), running.plan.name, device, running.commit, running.options.recorded)
    on = None if device is _NOWHERE else device.name
    running.executor.submit(Call(measured, order, device=on))


def _commit(folder: Path) -> str | None:
    """The commit that is checked out where the plan is; with ``+`` where files were changed."""
    git = which("git")
    if git is None:
        return None
    head = ask(git, "-C", str(folder), "rev-parse", "--verify", "HEAD")
    if head is None or head.returncode != 0:
        return None
    changed = ask(git, "-C", str(folder), "diff-index", "--quiet", "HEAD")
    mark = "+" if changed is not None and changed.returncode == 1 else ""
    return f"{head.stdout.strip()}{mark}"


def _batches(of: Sequence[_T], size: int) -> Iterator[tuple[_T, ...]]:
    for at in range(0, len(of), size):
        yield tuple(of[at : at + size])
