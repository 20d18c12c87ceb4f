"""From a request to a capture: what is built, run under ``ncu``, and kept around it."""

from __future__ import annotations

import shlex
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from kernelprof.collect import lines
from kernelprof.collect import request as asked
from kernelprof.tools import ncu_version

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernelprof.analysis.metrics.catalogue import Metric
    from kernelprof.collect.drill import DrillDown
    from kernelprof.collect.progress import Progress
    from kernelprof.collect.request import Filters, LocalTools, ProfileRequest
    from kernelprof.collect.store import Draft
    from kernelprof.launch.prepare import PreparedKernel
    from kernelprof.model.capture import Capture, SourceLine
    from kernelprof.model.manifest import Manifest

_OF_A_LAUNCH = ("kernel", "launch_skip", "launch_count")


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


def profile(
    request: ProfileRequest, preset: str, progress: Progress | None = None
) -> tuple[Manifest, ...]:
    """Collect one preset in one run of the program, or as often as the request says, and keep it.

    Each is a capture of its own, of a process of its own: where one fails, none is kept.
    """
    spec = asked.check_request(request, preset)
    tools = asked.local_tools(for_source=request.source is not None)
    if tools.missing and spec is not None:
        named = None if preset == "full" else preset
        raise asked.source_error(request, named, tools, diagnosing=False)
    if not request.several:
        return (_measured(request, preset, tools, progress).manifest,)
    return _repeated(request, preset, tools, progress)


def measure(
    request: ProfileRequest, preset: str | None = None, progress: Progress | None = None
) -> ProfileResult:
    """What a diagnosis needs: one preset in one run, or from ``triage`` on what the verdicts ask.

    Kept if the request says so. Where a source cannot be measured, its recorded capture is taken.
    """
    spec = asked.check_request(request, preset)
    tools = asked.local_tools(for_source=request.source is not None)
    if not tools.missing or spec is None:
        return _measured(request, preset, tools, progress)
    from kernelprof.collect import recorded

    assert request.source is not None
    try:
        record = recorded.find(request.source, spec)
    except recorded.NoRecordError as reason:
        raise asked.source_error(
            request, preset, tools, diagnosing=True, why=str(reason)
        ) from reason
    asked.check_recordable(request, tools)
    origin = recorded.describe(request.source, record.manifest, tools.describe())
    capture = replace(record.capture, origin=origin)
    return ProfileResult(capture, record.manifest, recorded=True, lines=record.lines)


def _repeated(
    request: ProfileRequest, preset: str, tools: LocalTools, progress: Progress | None
) -> tuple[Manifest, ...]:
    """Captures 1, 2, ... in one folder, which is there when the last of them is complete."""
    from kernelprof.collect.progress import Progress
    from kernelprof.collect.store import draft
    from kernelprof.launch.processes import Interrupts

    shown = progress or Progress()
    made = []
    with (
        Interrupts() as interrupts,
        draft(request.keep, force=request.force, several=True) as folder,
    ):
        for number in range(1, request.repeat + 1):
            shown.capture(number, request.repeat)
            part = folder.part(str(number))
            one = replace(request, keep=part.final, repeat=1)
            made.append(_measured(one, preset, tools, shown, part).manifest)
            interrupts.check()
        folder.settle()
    return tuple(made)


def _measured(
    request: ProfileRequest,
    preset: str | None,
    tools: LocalTools,
    progress: Progress | None,
    into: Draft | None = None,
) -> ProfileResult:
    """What was measured now and here; what is missing is said before anything is built.

    ``into`` is the draft of a capture that is a part of a folder.
    """
    if tools.ncu is None or tools.missing:
        raise asked.program_error(request, preset or "full", tools)
    from kernelprof.analysis.metrics.catalogue import preset as known_preset
    from kernelprof.collect import environment
    from kernelprof.collect.drill import drill
    from kernelprof.collect.progress import Progress
    from kernelprof.collect.run import Session
    from kernelprof.collect.store import draft
    from kernelprof.launch.prepare import PreparedKernel, prepare
    from kernelprof.launch.processes import Interrupts
    from kernelprof.sources.capture_directory import with_source

    if request.source is not None and request.keep is not None and into is None:
        with draft(request.keep, force=request.force):
            pass  # a place that cannot be written to is better known before a build
    with (
        Interrupts() as interrupts,
        progress or Progress() as shown,
        nullcontext(PreparedKernel(shlex.join(request.application), request.application))
        if request.source is None
        else prepare(request.source, request.overrides, interrupts, shown.say) as prepared,
        nullcontext(into)
        if into is not None
        else draft(request.keep, force=request.force) as stage,
    ):
        session = Session(
            ncu=tools.ncu,
            application=prepared.command,
            draft=stage,
            interrupts=interrupts,
            filters=_filters(request.filters, prepared),
            clock_control=request.clock_control,
            time_limit=request.time_limit,
            version=ncu_version(tools.ncu),
            machine=tools.machine or environment.machine(),
            progress=shown,
        )
        if request.source is not None and prepared.source is not None:
            session.name_file = lines.names_for(request.source, prepared.source.path)

        def collect(metrics: Sequence[Metric], kernels: Sequence[str] | None, why: str) -> Capture:
            shown.begin(why[:1].upper() + why[1:])
            samples = request.samples and not session.runs
            return session.collect(metrics, kernels, why, samples=samples)

        if preset is None:
            drill_down = drill(collect)
            capture = drill_down.capture
        else:
            drill_down, wanted = None, known_preset(preset)
            shown.begin(why := f"preset {preset}: {wanted.title}")
            capture = session.collect(wanted.metrics, None, why, samples=wanted.samples)
        session.interrupts.check()
        manifest = session.manifest(
            preset=preset, prepared=None if request.source is None else prepared
        )
        if request.keep is not None:
            if request.source is not None and manifest.source is not None:
                stage.store_source(request.source, manifest.source.sha256)
            stage.commit(manifest)
    # Named after what was profiled, not after a folder that is gone.
    origin = str(request.keep or request.source or shlex.join(request.application))
    if request.source is not None:
        options = tuple(request.overrides.options())
        capture = replace(capture, application=str(request.source), options=options)
    code = with_source(session.code, request.keep or Path(), manifest.source)
    capture = replace(capture, origin=origin, code=code)
    return ProfileResult(capture, manifest, drill_down, lines=session.lines)


def _filters(given: Filters, prepared: PreparedKernel) -> Filters:
    """What the command line asks for; else what the launch of a source says."""
    unset = [name for name in _OF_A_LAUNCH if getattr(given, name) is None]
    return replace(given, **{name: getattr(prepared, name) for name in unset})
