"""From a request to a capture: what is built, run under ``ncu``, and kept around it."""

from __future__ import annotations

import shlex
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from kernelprof.collect import request as asked
from kernelprof.errors import KernelprofError
from kernelprof.model.inferred import sentences
from kernelprof.tools import ncu_version

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernelprof.analysis.metrics.catalogue import Metric
    from kernelprof.collect.commands import LaunchFilters
    from kernelprof.collect.drill import DrillDown
    from kernelprof.collect.progress import Progress
    from kernelprof.collect.request import LocalTools, ProfileRequest
    from kernelprof.collect.run import Session
    from kernelprof.collect.store import CaptureDraft
    from kernelprof.collect.survey.measure import Surveyed
    from kernelprof.launch.processes import Interrupts
    from kernelprof.launch.run.prepare import PreparedKernel
    from kernelprof.model.capture import Capture, SampledLine
    from kernelprof.model.diagnosis import Diagnosis
    from kernelprof.model.manifest import Manifest

_OF_A_LAUNCH = ("kernel", "launch_skip", "launch_count")


@dataclass(frozen=True, slots=True)
class ProfileResult:
    """A capture, its drill-down and samples, and the diagnosis together with a survey, if any.

    ``recorded`` is a capture that was not made now and here.
    """

    capture: Capture
    manifest: Manifest
    drill_down: DrillDown | None = None
    recorded: bool = False
    lines: tuple[SampledLine, ...] | None = None
    diagnosis: Diagnosis | None = None


def profile(
    request: ProfileRequest, preset: str, progress: Progress | None = None
) -> tuple[Manifest, ...]:
    """Collect one preset in one run, or as often as requested; none is kept where one fails."""
    spec = asked.check_request(request, preset)
    tools = asked.local_tools(for_source=request.source is not None)
    if tools.missing and spec is not None:
        chosen_preset = None if preset == "full" else preset
        raise asked.source_error(request, chosen_preset, tools, diagnosing=False)
    if not request.several:
        return (_measured(request, preset, tools, progress).manifest,)
    return _repeated(request, preset, tools, progress)


def measure(
    request: ProfileRequest, preset: str | None = None, progress: Progress | None = None
) -> ProfileResult:
    """Measure what a diagnosis asks for: one preset, or from ``triage`` on what verdicts ask.

    Where a source cannot be measured, its recorded capture is taken.
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
            subfolder = folder.add_subfolder(str(number))
            one = replace(request, keep=subfolder.final, repeat=1)
            made.append(_measured(one, preset, tools, shown, subfolder).manifest)
            interrupts.check()
        folder.settle()
    return tuple(made)


def _measured(
    request: ProfileRequest,
    preset: str | None,
    tools: LocalTools,
    progress: Progress | None,
    into: CaptureDraft | None = None,
) -> ProfileResult:
    if tools.ncu is None or tools.missing:
        raise asked.program_error(request, preset or "full", tools)
    from kernelprof.analysis.verdict import diagnose
    from kernelprof.collect import environment
    from kernelprof.collect.progress import Progress
    from kernelprof.collect.run import Session, names_for
    from kernelprof.collect.store import draft
    from kernelprof.launch.processes import Interrupts
    from kernelprof.launch.run.prepare import PreparedKernel, prepare
    from kernelprof.model.survey import to_bytes

    if request.source is not None and request.keep is not None and into is None:
        with draft(request.keep, force=request.force):
            pass  # a place that cannot be written to is better known before a build
    with (
        Interrupts() as interrupts,
        progress or Progress() as shown,
        nullcontext(PreparedKernel(shlex.join(request.application), request.application))
        if request.source is None
        else prepare(
            request.source,
            request.overrides,
            interrupts,
            shown.say,
            arguments=request.arguments,
            flags=request.flags,
        ) as prepared,
        nullcontext(into)
        if into is not None
        else draft(request.keep, force=request.force) as stage,
    ):
        if request.build:
            _build(request.build, interrupts, shown)
        session = Session(
            ncu=tools.ncu,
            application=prepared.command,
            draft=stage,
            interrupts=interrupts,
            filters=_filters(request.filters, prepared),
            clock_control=request.clock_control,
            time_limit=request.time_limit,
            version=ncu_version(tools.ncu),
            machine=tools.machine or environment.query_machine(),
            progress=shown,
        )
        surveyed = _surveyed(request, preset, prepared, session)
        if request.source is not None and prepared.source is not None:
            session.name_file = names_for(request.source, prepared.source.path)

        try:
            capture, drill_down = _collected(request, preset, session, surveyed)
        except KernelprofError as error:
            if surveyed is None or request.keep is not None or session.runs:
                raise
            return _only_surveyed(surveyed, error, request, session)
        session.interrupts.check()
        manifest = session.manifest(
            preset=preset, prepared=None if request.source is None else prepared
        )
        if request.keep is not None:
            if request.source is not None and manifest.source is not None:
                stage.store_source(request.source, manifest.source.sha256)
            if surveyed is not None:
                name, digest = stage.store("survey", 0, to_bytes(surveyed.with_coverage()), "json")
                manifest = replace(manifest, survey=name, survey_sha256=digest)
            stage.commit(manifest)
    capture = _with_origin(capture, request, session, manifest)
    diagnosis = None if surveyed is None else surveyed.diagnosis(diagnose(capture, preset=preset))
    return ProfileResult(capture, manifest, drill_down, lines=session.lines, diagnosis=diagnosis)


def _with_origin(
    capture: Capture, request: ProfileRequest, session: Session, manifest: Manifest
) -> Capture:
    from kernelprof.sources.capture_directory import to_run_again, with_source

    origin = str(request.keep or request.source or shlex.join(request.application))
    capture = to_run_again(capture, manifest)
    code = with_source(session.code, request.keep or Path(), manifest.source)
    warnings = (*capture.warnings, *sentences(manifest.source))
    return replace(capture, origin=origin, code=code, warnings=warnings)


def _only_surveyed(
    surveyed: Surveyed, error: KernelprofError, request: ProfileRequest, session: Session
) -> ProfileResult:
    from kernelprof.model.capture import Capture

    origin = str(request.source or shlex.join(request.application))
    diagnosis = surveyed.alone(error, origin)
    capture = Capture((), {}, origin=origin, warnings=diagnosis.warnings)
    return ProfileResult(capture, session.manifest(), diagnosis=diagnosis)


def _collected(
    request: ProfileRequest, preset: str | None, session: Session, surveyed: Surveyed | None
) -> tuple[Capture, DrillDown | None]:
    from kernelprof.analysis.metrics.catalogue import preset as known_preset
    from kernelprof.collect.drill import drill
    from kernelprof.collect.failures import NoLaunchError, ProfilerError
    from kernelprof.errors import InputError
    from kernelprof.launch.processes import TimeLimitError
    from kernelprof.model.survey import Replay

    shown = session.progress

    def run(metrics: Sequence[Metric], kernels: Sequence[str] | None, why: str) -> Capture:
        if surveyed is not None and session.runs:
            surveyed.check_follow_up(kernels)
        shown.begin(why[:1].upper() + why[1:])
        asked_for = request.samples if preset is None else known_preset(preset).samples
        samples = asked_for and not session.runs
        if surveyed is None:
            return session.collect(metrics, kernels, why, samples=samples)
        if not session.runs and surveyed.replay is not Replay.KERNEL:
            try:
                replay = surveyed.replay
                return session.collect(metrics, kernels, why, samples=samples, replay=replay)
            except TimeLimitError:
                raise
            except (InputError, ProfilerError) as error:
                shown.note(f"running the program again failed: {error.what}. Its memory is saved")
                surveyed.save_memory()
                session.program_limit = surveyed.limit
        try:
            return session.collect(metrics, kernels, why, samples=samples)
        except NoLaunchError:
            if session.runs:
                raise
            shown.note("the program launches other kernels each time: the first are measured")
            session.filters = replace(session.filters, chosen=surveyed.without_numbers)
            return session.collect(metrics, kernels, why, samples=samples)

    if preset is None:
        drill_down = drill(run, start="triage" if surveyed is None else surveyed.preset)
        return drill_down.capture, drill_down
    wanted = known_preset(preset)
    return run(wanted.metrics, None, f"preset {preset}: {wanted.title}"), None


def _build(command: Sequence[str], interrupts: Interrupts, shown: Progress) -> None:
    from kernelprof.errors import InputError
    from kernelprof.launch import processes
    from kernelprof.launch.run.prepare import last_lines

    shown.say(f"building: {shlex.join(command)}")
    ended = processes.run(command, interrupts)
    if ended.code != 0:
        raise InputError(
            f"the build failed with exit code {ended.code}",
            where=shlex.join(command),
            hint=f"run it by itself, and correct what it says{last_lines(ended.printed)}",
        )


def _surveyed(
    request: ProfileRequest, preset: str | None, prepared: PreparedKernel, session: Session
) -> Surveyed | None:
    # The survey of a program, whose costly kernels alone are then measured. Launches that were
    # chosen by number or by range are measured as they were chosen, and so is the one kernel of a
    # source
    by_hand = request.filters.by_number or bool(request.filters.nvtx_include)
    if request.budget is None or prepared.launch_count is not None or by_hand:
        return None
    if not session.machine.gpus or (request.source is not None and prepared.timing is not None):
        return None
    from kernelprof.collect.survey.measure import survey_first

    surveyed = survey_first(
        prepared.command,
        request.filters,
        request.budget,
        session.interrupts,
        session.progress,
        preset=preset,
        time_limit=request.time_limit,
    )
    if surveyed is None:
        session.program_limit = request.budget
        return None
    session.filters = replace(session.filters, chosen=surveyed.chosen)
    session.program_limit = surveyed.limit
    return surveyed


def _filters(given: LaunchFilters, prepared: PreparedKernel) -> LaunchFilters:
    unset = [name for name in _OF_A_LAUNCH if getattr(given, name) is None]
    return replace(given, **{name: getattr(prepared, name) for name in unset})
