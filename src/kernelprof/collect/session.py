"""From a request to a capture: measured here, or recorded where this machine cannot measure."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kernelprof.collect import request as requests
from kernelprof.collect.progress import Progress

if TYPE_CHECKING:
    from kernelprof.collect.request import LocalTools, ProfileRequest, ProfileResult
    from kernelprof.collect.store import CaptureDraft
    from kernelprof.errors import MissingToolError
    from kernelprof.model.manifest import Manifest


def profile(
    request: ProfileRequest, preset: str, progress: Progress | None = None
) -> tuple[Manifest, ...]:
    """Collect one preset in one run, or as often as requested; none is kept where one fails."""
    requests.check_request(request, preset)
    tools = requests.local_tools(for_source=request.source is not None)
    if tools.missing:
        chosen_preset = None if preset == "full" else preset
        if request.source is None:
            raise requests.program_error(request, chosen_preset, tools)
        raise requests.source_error(request, chosen_preset, tools, diagnosing=False)
    if not request.several:
        return (_measure_here(request, preset, tools, progress).manifest,)
    return _repeated(request, preset, tools, progress)


def measure_for_diagnosis(
    request: ProfileRequest, preset: str | None = None, progress: Progress | None = None
) -> ProfileResult:
    """Measure what a diagnosis asks for: one preset, or from ``triage`` on what verdicts ask.

    Where a source cannot be measured, its recorded capture is taken.
    """
    spec = requests.check_request(request, preset)
    tools = requests.local_tools(for_source=request.source is not None)
    if request.source is None and request.budget == 0:
        return _survey_here(request, progress)
    if not tools.missing:
        return _measure_here(request, preset, tools, progress)
    if request.source is None:
        return _survey_here(request, progress, requests.program_error(request, preset, tools))
    if spec is None:
        raise requests.source_error(request, preset, tools, diagnosing=True)
    from kernelprof.collect import recorded

    try:
        record = recorded.find_record(request.source, spec, tools.describe())
    except recorded.NoRecordError as reason:
        raise requests.source_error(
            request, preset, tools, diagnosing=True, why=str(reason)
        ) from reason
    requests.check_recordable(request, tools)
    return record


def _repeated(
    request: ProfileRequest, preset: str, tools: LocalTools, progress: Progress | None
) -> tuple[Manifest, ...]:
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
            made.append(_measure_here(one, preset, tools, shown, subfolder).manifest)
            interrupts.check()
        folder.settle()
    return tuple(made)


def _survey_here(
    request: ProfileRequest, progress: Progress | None, without: MissingToolError | None = None
) -> ProfileResult:
    from kernelprof.collect import environment

    if without is not None and not environment.query_machine().gpus:
        raise without
    from kernelprof.collect.run import survey_request

    return survey_request(request, progress or Progress(), without)


def _measure_here(
    request: ProfileRequest,
    preset: str | None,
    tools: LocalTools,
    progress: Progress | None,
    into: CaptureDraft | None = None,
) -> ProfileResult:
    from kernelprof.collect.run import measure_request

    return measure_request(request, preset, tools, progress or Progress(), into)
