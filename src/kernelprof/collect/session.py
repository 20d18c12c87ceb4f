"""From what the command line asks for to a capture: the session around the runs of ``ncu``."""

from __future__ import annotations

from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from kernelprof.collect import elsewhere, lines
from kernelprof.collect.request import DEFAULT_CLOCKS, Filters
from kernelprof.collect.source import Wishes, preparer
from kernelprof.collect.tool import ncu_version
from kernelprof.errors import MissingToolError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from kernelprof.analysis.metrics.catalogue import Metric
    from kernelprof.collect.drill import Drilled
    from kernelprof.collect.elsewhere import Here
    from kernelprof.collect.interrupts import Interrupts
    from kernelprof.collect.progress import Progress
    from kernelprof.collect.run import Session
    from kernelprof.collect.source import Prepared
    from kernelprof.launch.spec import LaunchSpec
    from kernelprof.model.capture import Capture, SourceLine
    from kernelprof.model.manifest import Manifest


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be profiled and how; either ``application`` or ``source`` is given.

    ``wishes`` are for a source. ``keep`` is the capture directory to write, ``None`` for none. With
    ``samples`` a drill-down samples in its first run where in the source warps are; a preset says
    that of itself.
    """

    application: tuple[str, ...] = ()
    source: Path | None = None
    wishes: Wishes = field(default_factory=Wishes)
    keep: Path | None = None
    force: bool = False
    filters: Filters = field(default_factory=Filters)
    clock_control: str = DEFAULT_CLOCKS
    time_limit: float | None = None
    samples: bool = False


@dataclass(frozen=True, slots=True)
class Measured:
    """A capture and how it came about.

    ``drilled`` is ``None`` where just one preset was collected. ``recorded`` is a capture that was
    not made now and here. ``lines`` are samples by source line, ``None`` where there are none.
    """

    capture: Capture
    manifest: Manifest
    drilled: Drilled | None = None
    recorded: bool = False
    lines: tuple[SourceLine, ...] | None = None


def profile(order: Order, preset: str) -> Manifest:
    """Collect one preset in one run of the program, and keep it."""
    check_preset(preset)
    spec = _checked(order)
    here = elsewhere.look(for_source=order.source is not None)
    if here.lacks and spec is not None:
        asked = None if preset == "full" else preset
        raise elsewhere.for_source(order, asked, here, diagnosing=False)
    with _opened(order, preset, here) as (session, prepared, progress):
        _collect(session, progress, preset)
        manifest = session.manifest(preset=preset, prepared=prepared)
        session.interrupts.check()
        _commit(session, manifest, order)
        return manifest


def measured(order: Order, preset: str | None = None) -> Measured:
    """What a diagnosis needs: one preset in one run, or from ``triage`` on what the verdicts ask.

    Kept if the order says so. Where a source cannot be measured, its recorded capture is taken.
    """
    if preset is not None:
        check_preset(preset)
    spec = _checked(order)
    here = elsewhere.look(for_source=order.source is not None)
    if here.lacks and spec is not None:
        return _recorded(order, preset, spec, here)
    with _opened(order, preset or "full", here) as (session, prepared, progress):
        capture, drilled = (
            _drill(session, progress, samples=order.samples)
            if preset is None
            else _collect(session, progress, preset)
        )
        session.interrupts.check()
        manifest = session.manifest(preset=preset, prepared=prepared)
        if order.keep is not None:
            _commit(session, manifest, order)
    return Measured(_named(capture, order), manifest, drilled, lines=session.lines)


def check_preset(name: str) -> None:
    """Refuse a preset that does not exist before anything is run."""
    from kernelprof.analysis.metrics.catalogue import preset as known_preset

    known_preset(name)


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


def summary(found: Measured) -> Sequence[str]:
    """For people: what was checked and timed, and what the drill-down cost, in lines."""
    from kernelprof.collect import telling

    known = telling.facts(found.manifest.timing, found.manifest.correctness)
    if found.recorded:
        return [f"as recorded: {line}" for line in known]
    return known if found.drilled is None else [*known, *telling.runs(found.drilled)]


def _collect(session: Session, progress: Progress, preset: str) -> tuple[Capture, None]:
    """One preset in one run."""
    from kernelprof.analysis.metrics.catalogue import preset as known_preset

    wanted = known_preset(preset)
    why = f"preset {preset}: {wanted.title}"
    progress.begin(why)
    return session.collect(wanted.metrics, None, why, samples=wanted.samples), None


def _drill(session: Session, progress: Progress, *, samples: bool) -> tuple[Capture, Drilled]:
    """As many runs as the verdicts need, the first with ``samples`` if they are wanted."""
    from kernelprof.collect.drill import drill

    def collect(metrics: Sequence[Metric], kernels: Sequence[str] | None, why: str) -> Capture:
        return session.collect(metrics, kernels, why, samples=samples and not session.runs)

    found = drill(collect, watch=lambda coming: progress.begin(_title(coming.why)))
    return found.capture, found


def _commit(session: Session, manifest: Manifest, order: Order) -> None:
    """Complete the capture directory; the source of a kernel goes along."""
    if order.source is not None and manifest.source is not None:
        session.draft.store_source(order.source, manifest.source.sha256)
    session.draft.commit(manifest)


def _title(why: str) -> str:
    return why[:1].upper() + why[1:]


def _named(capture: Capture, order: Order) -> Capture:
    """The capture under the name of what was profiled, not of a folder that is gone."""
    if order.keep is not None:
        return replace(capture, origin=str(order.keep))
    import shlex

    return replace(capture, origin=str(order.source or shlex.join(order.application)))


def _checked(order: Order) -> LaunchSpec | None:
    """Refuse what is wrong on any machine; the specification of a source that has one."""
    if order.keep is not None:
        from kernelprof.collect.store import refuse_existing

        refuse_existing(order.keep.expanduser(), force=order.force)
    if order.source is not None:
        return _specification(order.source, order.wishes)
    if not order.application:
        raise UsageError(
            "there is no program after --", hint="name one: kernelprof diagnose -- ./app args..."
        )
    return None


def _specification(source: Path, wishes: Wishes) -> LaunchSpec | None:
    """The launch specification with the wishes in it; ``None`` for a source with its own main."""
    from kernelprof.launch.prepare import changed, is_program
    from kernelprof.launch.read_spec import load_spec
    from kernelprof.launch.signature import check_arguments, choose, kernels
    from kernelprof.launch.source import read_source, refuse_other_than_file

    refuse_other_than_file(source, hint="name a .cu file, or a program after --")
    if is_program(source, wishes):
        return None
    spec = changed(load_spec(source), wishes, source)
    check_arguments(spec, choose(kernels(read_source(source)), spec.kernel, str(source)))
    return spec


def _recorded(order: Order, preset: str | None, spec: LaunchSpec, here: Here) -> Measured:
    """The recorded capture of a source that cannot be measured here."""
    from kernelprof.collect import recorded

    assert order.source is not None
    try:
        record = recorded.find(order.source, spec)
    except recorded.NoRecordError as reason:
        raise elsewhere.for_source(
            order, preset, here, diagnosing=True, why=str(reason)
        ) from reason
    options = _for_measuring(order)
    if options:
        raise MissingToolError(
            f"{' and '.join(options)} cannot be done with a recorded capture, and this machine has "
            f"{here.describe()} to make another",
            where=str(order.source),
            hint="leave it out to diagnose what was recorded, or run it on a machine with a GPU",
        )
    origin = recorded.describe(order.source, record.manifest, here.describe())
    capture = replace(record.capture, origin=origin)
    return Measured(capture, record.manifest, recorded=True, lines=record.lines)


def _for_measuring(order: Order) -> list[str]:
    """Options that were given and that only a measurement can follow."""
    given = {
        "--keep": order.keep is not None,
        "--sanitize": bool(order.wishes.sanitizers),
        "--launch-skip": order.filters.launch_skip is not None,
        "--launch-count": order.filters.launch_count is not None,
        "--nvtx-include": bool(order.filters.nvtx_include),
        "--clock-control": order.clock_control != DEFAULT_CLOCKS,
    }
    return [option for option, is_given in given.items() if is_given]


@contextmanager
def _opened(
    order: Order, preset: str, here: Here
) -> Iterator[tuple[Session, Prepared | None, Progress]]:
    """Everything that runs need; what is missing is said before anything is built."""
    if here.ncu is None or here.lacks:
        raise elsewhere.for_program(order, preset, here)
    from kernelprof.collect import environment
    from kernelprof.collect.interrupts import Interrupts
    from kernelprof.collect.progress import Progress
    from kernelprof.collect.run import Session
    from kernelprof.collect.store import draft

    if order.source is not None and order.keep is not None:
        with draft(order.keep, force=order.force):
            pass  # a place that cannot be written to is better known before a build
    with (
        Interrupts() as interrupts,
        Progress() as progress,
        _preparing(order, interrupts, progress.say) as prepared,
        draft(order.keep, force=order.force) as stage,
    ):
        session = Session(
            ncu=here.ncu,
            application=order.application if prepared is None else prepared.command,
            draft=stage,
            interrupts=interrupts,
            filters=order.filters if prepared is None else _filters(order.filters, prepared),
            clock_control=order.clock_control,
            time_limit=order.time_limit,
            version=ncu_version(here.ncu),
            machine=here.machine or environment.machine(),
            listen=progress.listen,
            name_file=_file_names(order, prepared),
        )
        yield session, prepared, progress


def _preparing(
    order: Order, interrupts: Interrupts, tell: Callable[[str], None]
) -> AbstractContextManager[Prepared | None]:
    """What builds, checks and times a source; nothing for a program."""
    if order.source is None:
        return nullcontext()
    prepare = preparer()
    if prepare is None:
        raise MissingToolError(
            "this installation of kernelprof cannot build kernels",
            where=str(order.source),
            hint="install kernelprof again, or profile a program: kernelprof diagnose -- ./app",
        )
    return prepare(order.source, order.wishes, interrupts, tell)


def _file_names(order: Order, prepared: Prepared | None) -> Callable[[str], str]:
    """How source files are called: the one that was built as its manifest has it."""
    if order.source is None or prepared is None or prepared.source is None:
        return lines.same_name
    return lines.names_for(order.source, prepared.source.path)


def _filters(asked: Filters, prepared: Prepared) -> Filters:
    """What the command line asks for; else what the launch of a source says."""
    return Filters(
        kernel=prepared.kernel if asked.kernel is None else asked.kernel,
        launch_skip=prepared.launch_skip if asked.launch_skip is None else asked.launch_skip,
        launch_count=prepared.launch_count if asked.launch_count is None else asked.launch_count,
        nvtx_include=asked.nvtx_include,
    )
