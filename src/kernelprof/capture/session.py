"""From what the command line asks for to a capture: the session around the runs of ``ncu``."""

from __future__ import annotations

from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from kernelprof.capture.request import DEFAULT_CLOCKS, Filters
from kernelprof.capture.source import preparer
from kernelprof.capture.tool import find_ncu, ncu_version
from kernelprof.errors import InputError, MissingToolError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from kernelprof.capture.drill import Drilled
    from kernelprof.capture.manifest import Manifest
    from kernelprof.capture.progress import Progress
    from kernelprof.capture.run import Session
    from kernelprof.capture.source import Prepared
    from kernelprof.model.capture import Capture


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be profiled and how; either ``application`` or ``source`` is given.

    ``keep`` is the capture directory to write, ``None`` for none.
    """

    application: tuple[str, ...] = ()
    source: Path | None = None
    keep: Path | None = None
    force: bool = False
    filters: Filters = field(default_factory=Filters)
    clock_control: str = DEFAULT_CLOCKS
    time_limit: float | None = None


def profile(order: Order, preset: str) -> Manifest:
    """Collect one preset in one run of the program, and keep it."""
    from kernelprof.metrics.catalogue import preset as known_preset

    wanted = known_preset(preset)
    with _opened(order, preset) as (session, prepared, progress):
        why = f"preset {preset}: {wanted.title}"
        progress.begin(why)
        session.collect(wanted.metrics, None, why)
        manifest = session.manifest(preset=preset, prepared=prepared)
        session.interrupts.check()
        session.draft.commit(manifest)
        return manifest


def drilled(order: Order) -> Drilled:
    """Collect what the verdicts need, from ``triage`` on; kept if the order says so."""
    with _opened(order, "full") as (session, prepared, progress):
        from kernelprof.capture.drill import drill

        found = drill(session.collect, watch=lambda coming: progress.begin(_title(coming.why)))
        session.interrupts.check()
        if order.keep is not None:
            session.draft.commit(session.manifest(prepared=prepared))
    return replace(found, capture=_named(found.capture, order))


def collected(order: Order, preset: str) -> Capture:
    """One preset of the program in one run; kept if the order says so."""
    from kernelprof.metrics.catalogue import preset as known_preset

    wanted = known_preset(preset)
    with _opened(order, preset) as (session, prepared, progress):
        why = f"preset {preset}: {wanted.title}"
        progress.begin(why)
        capture = session.collect(wanted.metrics, None, why)
        session.interrupts.check()
        if order.keep is not None:
            session.draft.commit(session.manifest(preset=preset, prepared=prepared))
    return _named(capture, order)


def check_preset(name: str) -> None:
    """Refuse a preset that does not exist before anything is run."""
    from kernelprof.metrics.catalogue import preset as known_preset

    known_preset(name)


def _title(why: str) -> str:
    return why[:1].upper() + why[1:]


def _named(capture: Capture, order: Order) -> Capture:
    """The capture under the name of what was profiled, not of a folder that is gone."""
    if order.keep is not None:
        return replace(capture, origin=str(order.keep))
    import shlex

    return replace(capture, origin=str(order.source or shlex.join(order.application)))


@contextmanager
def _opened(order: Order, preset: str) -> Iterator[tuple[Session, Prepared | None, Progress]]:
    """Everything that runs need; all that can be refused is refused before anything is imported."""
    if order.keep is not None:
        from kernelprof.capture.store import refuse_existing

        refuse_existing(order.keep.expanduser(), force=order.force)
    if order.source is None and not order.application:
        raise UsageError(
            "there is no program after --", hint="name one: kernelprof diagnose -- ./app args..."
        )
    prepare = _preparer(order, preset)
    ncu = _ncu(order, preset)

    from kernelprof.capture import environment
    from kernelprof.capture.interrupts import Interrupts
    from kernelprof.capture.progress import Progress
    from kernelprof.capture.run import Session
    from kernelprof.capture.store import draft

    with (
        prepare as prepared,
        Interrupts() as interrupts,
        draft(order.keep, force=order.force) as stage,
        Progress() as progress,
    ):
        session = Session(
            ncu=ncu,
            application=order.application if prepared is None else prepared.command,
            draft=stage,
            interrupts=interrupts,
            filters=order.filters if prepared is None else _filters(order.filters, prepared),
            clock_control=order.clock_control,
            time_limit=order.time_limit,
            version=ncu_version(ncu),
            machine=environment.machine(),
            listen=progress.listen,
        )
        yield session, prepared, progress


def _preparer(order: Order, preset: str) -> AbstractContextManager[Prepared | None]:
    source = order.source
    if source is None:
        return nullcontext()
    if not source.is_file():
        raise InputError(
            "there is no such file",
            where=str(source),
            hint="name a .cu file, or a program after --",
        )
    prepare = preparer()
    if prepare is None:
        raise _elsewhere(f"this build of kernelprof does not build {source}", order, preset)
    return prepare(source)


def _ncu(order: Order, preset: str) -> str:
    try:
        return find_ncu()
    except MissingToolError as error:
        raise _elsewhere(error.what, order, preset, where=error.where, hint=error.hint) from error


def _elsewhere(
    what: str, order: Order, preset: str, *, where: str | None = None, hint: str | None = None
) -> MissingToolError:
    """What is missing here, and the command that makes the capture on a machine that has it."""
    from kernelprof.capture.command import ncu_command, quote

    before, application = "", order.application
    if order.source is not None:
        name = order.source.stem
        before = f"build {name} from it (nvcc -O3 -lineinfo -o {name} {order.source}), then "
        application = (f"./{name}",)
    filters = order.filters
    command = ncu_command(
        preset,
        launch_skip=filters.launch_skip,
        launch_count=filters.launch_count,
        clock_control=order.clock_control,
        nvtx_include=filters.nvtx_include,
        application=application,
    )
    if filters.kernel is not None:
        # Like --kernel, and unlike ncu's default, this looks at the whole demangled name.
        command[1:1] = [
            "--kernel-name-base",
            "demangled",
            "--kernel-name",
            f"regex:{filters.kernel}",
        ]
    return MissingToolError(
        what,
        where=where,
        hint=f"{hint}\n"
        * bool(hint)
        + f"on a machine with a GPU {before}make capture.csv with the command below, and then "
        f"diagnose that: kernelprof diagnose capture.csv\n{quote(command)}",
    )


def _filters(asked: Filters, prepared: Prepared) -> Filters:
    """What the command line asks for; else what the launch of a source says."""
    return Filters(
        kernel=prepared.kernel if asked.kernel is None else asked.kernel,
        launch_skip=prepared.launch_skip if asked.launch_skip is None else asked.launch_skip,
        launch_count=prepared.launch_count if asked.launch_count is None else asked.launch_count,
        nvtx_include=asked.nvtx_include,
    )


def check_filters(kernel: str | None) -> None:
    """Refuse an expression that is none before anything is run."""
    import re

    if kernel is None:
        return
    try:
        re.compile(kernel)
    except re.error as error:
        raise UsageError(
            f"--kernel {kernel!r} is not a regular expression: {error}",
            hint="escape brackets of a kernel's name with a backslash",
        ) from error


def summary(found: Drilled) -> Sequence[str]:
    """What the drill-down cost, for people: a line for each run, and one for all."""
    lines = []
    for each in found.rounds:
        passes = "" if each.passes is None else f", {each.passes} passes"
        lines.append(
            f"run {each.number + 1}: {each.why} ({len(each.metrics)} metrics{passes}, "
            f"{each.seconds:.1f} s)"
        )
    total = "" if found.passes is None else f"{found.passes} passes, "
    seconds = sum(each.seconds for each in found.rounds)
    runs = len(found.rounds)
    lines.append(f"{runs} run{'s' if runs != 1 else ''} of the program, {total}{seconds:.1f} s")
    return lines
