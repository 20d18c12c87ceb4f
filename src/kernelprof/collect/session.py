"""From a request to a capture: what is built, run under ``ncu``, and kept around it."""

from __future__ import annotations

import shlex
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kernelprof.collect import lines, preflight
from kernelprof.collect.request import Filters
from kernelprof.tools import ncu_version

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from kernelprof.analysis.metrics.catalogue import Metric
    from kernelprof.collect.drill import DrillDown
    from kernelprof.collect.preflight import LocalTools
    from kernelprof.collect.progress import Progress
    from kernelprof.collect.request import ProfileRequest
    from kernelprof.collect.run import Session
    from kernelprof.launch.prepare import PreparedKernel
    from kernelprof.launch.processes import Interrupts
    from kernelprof.launch.spec import LaunchSpec
    from kernelprof.model.capture import Capture, SourceLine
    from kernelprof.model.manifest import Manifest


@dataclass(frozen=True, slots=True)
class ProfileResult:
    """A capture and how it came about.

    ``drill_down`` is ``None`` where just one preset was collected. ``recorded`` is a capture that
    was not made now and here. ``lines`` are samples by source line, ``None`` where there are none.
    """

    capture: Capture
    manifest: Manifest
    drill_down: DrillDown | None = None
    recorded: bool = False
    lines: tuple[SourceLine, ...] | None = None


def profile(request: ProfileRequest, preset: str, progress: Progress | None = None) -> Manifest:
    """Collect one preset in one run of the program, and keep it."""
    spec = preflight.check_request(request, preset)
    tools = preflight.local_tools(for_source=request.source is not None)
    if tools.missing and spec is not None:
        asked = None if preset == "full" else preset
        raise preflight.source_error(request, asked, tools, diagnosing=False)
    with _opened(request, preset, tools, progress) as (session, prepared):
        _collect(session, preset)
        manifest = session.manifest(preset=preset, prepared=prepared)
        session.interrupts.check()
        _commit(session, manifest, request)
        return manifest


def measure(
    request: ProfileRequest, preset: str | None = None, progress: Progress | None = None
) -> ProfileResult:
    """What a diagnosis needs: one preset in one run, or from ``triage`` on what the verdicts ask.

    Kept if the request says so. Where a source cannot be measured, its recorded capture is taken.
    """
    spec = preflight.check_request(request, preset)
    tools = preflight.local_tools(for_source=request.source is not None)
    if tools.missing and spec is not None:
        return _recorded(request, preset, spec, tools)
    with _opened(request, preset or "full", tools, progress) as (session, prepared):
        capture, drill_down = (
            _drill(session, samples=request.samples)
            if preset is None
            else (_collect(session, preset), None)
        )
        session.interrupts.check()
        manifest = session.manifest(preset=preset, prepared=prepared)
        if request.keep is not None:
            _commit(session, manifest, request)
    # Named after what was profiled, not after a folder that is gone.
    origin = str(request.keep or request.source or shlex.join(request.application))
    named = replace(capture, origin=origin)
    return ProfileResult(named, manifest, drill_down, lines=session.lines)


def _collect(session: Session, preset: str) -> Capture:
    """One preset in one run."""
    from kernelprof.analysis.metrics.catalogue import preset as known_preset

    wanted = known_preset(preset)
    why = f"preset {preset}: {wanted.title}"
    session.progress.begin(why)
    return session.collect(wanted.metrics, None, why, samples=wanted.samples)


def _drill(session: Session, *, samples: bool) -> tuple[Capture, DrillDown]:
    """As many runs as the verdicts need, the first with ``samples`` if they are wanted."""
    from kernelprof.collect.drill import drill

    def collect(metrics: Sequence[Metric], kernels: Sequence[str] | None, why: str) -> Capture:
        session.progress.begin(why[:1].upper() + why[1:])
        return session.collect(metrics, kernels, why, samples=samples and not session.runs)

    found = drill(collect)
    return found.capture, found


def _commit(session: Session, manifest: Manifest, request: ProfileRequest) -> None:
    """Complete the capture directory; the source of a kernel goes along."""
    if request.source is not None and manifest.source is not None:
        session.draft.store_source(request.source, manifest.source.sha256)
    session.draft.commit(manifest)


def _recorded(
    request: ProfileRequest, preset: str | None, spec: LaunchSpec, tools: LocalTools
) -> ProfileResult:
    """The recorded capture of a source that cannot be measured here."""
    from kernelprof.collect import recorded

    assert request.source is not None
    try:
        record = recorded.find(request.source, spec)
    except recorded.NoRecordError as reason:
        raise preflight.source_error(
            request, preset, tools, diagnosing=True, why=str(reason)
        ) from reason
    preflight.check_recordable(request, tools)
    origin = recorded.describe(request.source, record.manifest, tools.describe())
    capture = replace(record.capture, origin=origin)
    return ProfileResult(capture, record.manifest, recorded=True, lines=record.lines)


@contextmanager
def _opened(
    request: ProfileRequest, preset: str, tools: LocalTools, progress: Progress | None
) -> Iterator[tuple[Session, PreparedKernel | None]]:
    """Everything that runs need; what is missing is said before anything is built."""
    if tools.ncu is None or tools.missing:
        raise preflight.program_error(request, preset, tools)
    from kernelprof.collect import environment
    from kernelprof.collect.progress import NoProgress
    from kernelprof.collect.run import Session
    from kernelprof.collect.store import draft
    from kernelprof.launch.processes import Interrupts

    if request.source is not None and request.keep is not None:
        with draft(request.keep, force=request.force):
            pass  # a place that cannot be written to is better known before a build
    with (
        Interrupts() as interrupts,
        progress or NoProgress() as shown,
        _preparing(request, interrupts, shown.say) as prepared,
        draft(request.keep, force=request.force) as stage,
    ):
        session = Session(
            ncu=tools.ncu,
            application=request.application if prepared is None else prepared.command,
            draft=stage,
            interrupts=interrupts,
            filters=request.filters if prepared is None else _filters(request.filters, prepared),
            clock_control=request.clock_control,
            time_limit=request.time_limit,
            version=ncu_version(tools.ncu),
            machine=tools.machine or environment.machine(),
            progress=shown,
            name_file=_file_names(request, prepared),
        )
        yield session, prepared


def _preparing(
    request: ProfileRequest, interrupts: Interrupts, say: Callable[[str], None]
) -> AbstractContextManager[PreparedKernel | None]:
    """What builds, checks and times a source; nothing for a program."""
    if request.source is None:
        return nullcontext()
    from kernelprof.launch.prepare import prepare

    return prepare(request.source, request.overrides, interrupts, say)


def _file_names(request: ProfileRequest, prepared: PreparedKernel | None) -> Callable[[str], str]:
    """How source files are called: the one that was built as its manifest has it."""
    if request.source is None or prepared is None or prepared.source is None:
        return lines.same_name
    return lines.names_for(request.source, prepared.source.path)


def _filters(asked: Filters, prepared: PreparedKernel) -> Filters:
    """What the command line asks for; else what the launch of a source says."""
    return Filters(
        kernel=prepared.kernel if asked.kernel is None else asked.kernel,
        launch_skip=prepared.launch_skip if asked.launch_skip is None else asked.launch_skip,
        launch_count=prepared.launch_count if asked.launch_count is None else asked.launch_count,
        nvtx_include=asked.nvtx_include,
    )
