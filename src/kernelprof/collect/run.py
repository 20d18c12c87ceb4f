"""Runs a program under ``ncu`` as often as a request takes, and keeps what was measured.

The source page of ``ncu`` repeats the whole source with all instructions; ``lines.csv.gz`` has a
row for each line: file, function, line and samples, and ``code.json.gz`` the instructions.
"""

from __future__ import annotations

import csv
import io
import os
import re
import shlex
import time
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kernelprof.analysis.metrics.catalogue import preset as known_preset
from kernelprof.analysis.verdict import diagnose
from kernelprof.collect import environment
from kernelprof.collect.commands import (
    DEFAULT_CLOCKS,
    LaunchFilters,
    import_command,
    profile_command,
    source_page_command,
)
from kernelprof.collect.drill import collect_by_verdicts, count_passes
from kernelprof.collect.environment import LocalGpu, LocalMachine
from kernelprof.collect.failures import (
    NcuOutcome,
    NoLaunchError,
    ProfilerError,
    StorageError,
    explain_failure,
)
from kernelprof.collect.jax_settings import shared_environment
from kernelprof.collect.progress import Progress
from kernelprof.collect.request import ProfileResult, preset_facts
from kernelprof.collect.store import draft, numbered_name
from kernelprof.collect.survey.measure import (
    Surveyed,
    nothing_measured,
    record_survey,
    survey_first,
)
from kernelprof.errors import InputError, KernelprofError, MissingToolError, UsageError
from kernelprof.launch import processes
from kernelprof.launch.build.nvcc import real_names
from kernelprof.launch.processes import Interrupts
from kernelprof.launch.run.prepare import PreparedKernel, last_lines, prepare_kernel
from kernelprof.model.capture import DEVICE_NAME, Capture, SampledLine, sum_samples
from kernelprof.model.inferred import describe_assumptions
from kernelprof.model.manifest import GpuFacts, Manifest, RunFacts
from kernelprof.model.sampled import to_bytes
from kernelprof.model.survey import Replay
from kernelprof.model.survey import to_bytes as survey_to_bytes
from kernelprof.sources import read_log
from kernelprof.sources.capture_directory import (
    LINES_HEADER,
    capture_of_run,
    with_command_line,
    with_source,
)
from kernelprof.tools import ncu_version
from kernelprof.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from kernelprof.analysis.metrics.catalogue import Metric
    from kernelprof.collect.drill import DrillDown
    from kernelprof.collect.request import LocalTools, ProfileRequest
    from kernelprof.collect.store import CaptureDraft
    from kernelprof.model.diagnosis import Diagnosis
    from kernelprof.model.sampled import SampledCode

_LIMIT_S: Final = 300.0
"""A page holds every instruction of every launch: of a program with thousands it has no end."""


class NoLinesError(Exception):
    """There are no samples by source line; the message is a sentence for the manifest."""

    def __init__(self, why: str) -> None:
        super().__init__(f"Samples per source line are missing: {why}.")


def keep_name(path: str) -> str:
    """Leave a file's name as it is."""
    return path


def name_files_as(
    source: Path, shown: str, others: Callable[[str], str] = keep_name
) -> Callable[[str], str]:
    """Return what names files of a page: the kernel's own source as the manifest names it."""
    own = {os.path.normpath(source.absolute()), str(source.resolve())}

    def name(path: str) -> str:
        real = real_names(path)
        return shown if os.path.normpath(real) in own else others(real)

    return name


def export_lines(
    ncu: str, report: Path, interrupts: Interrupts, name: Callable[[str], str]
) -> tuple[tuple[SampledLine, ...], tuple[SampledCode, ...]]:
    """Export the samples of a report by source line and by instruction.

    Raises :class:`NoLinesError` for every failure: a capture is worth keeping without them.
    """
    page = report.with_suffix(".source.csv")
    try:
        sampled, code = _print_page(ncu, report, page, interrupts, "cuda,sass")
        if not sampled:
            _, code = _print_page(ncu, report, page, interrupts, "sass")
    except processes.TimeLimitError as error:
        raise NoLinesError(f"ncu did not print them within {_LIMIT_S:g} s") from error
    except MissingToolError as error:
        raise NoLinesError(error.what) from error
    except OSError as error:
        raise NoLinesError(error.strerror or str(error)) from error
    finally:
        page.unlink(missing_ok=True)
    renamed = sum_samples(replace(each, file=name(each.file)) for each in sampled)
    return renamed, tuple(each.with_files(name) for each in code)


def _print_page(
    ncu: str, report: Path, page: Path, interrupts: Interrupts, what: str
) -> tuple[tuple[SampledLine, ...], tuple[SampledCode, ...]]:
    from kernelprof.sources.ncu_report import LARGEST_PAGE
    from kernelprof.sources.source_page import read_instructions, read_source_lines

    command = source_page_command(ncu, str(report), what)
    ended = processes.run(command, interrupts, time_limit=_LIMIT_S, into=page, folder=report.parent)
    with page.open(encoding="utf-8", errors="replace", newline="\n") as lines:
        if ended.code != 0:
            words = " ".join(lines.read(1000).split())
            raise NoLinesError(f"ncu ended with exit code {ended.code}: {words}".rstrip(": "))
        sampled_lines = read_source_lines(lines)
        if page.stat().st_size > LARGEST_PAGE:
            return sampled_lines, ()
        lines.seek(0)
        sampled = (each for each in read_instructions(lines) if each.samples)
        return sampled_lines, tuple(sampled)


def lines_to_csv(lines: Iterable[SampledLine]) -> bytes:
    """Lines as their file holds them."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(LINES_HEADER)
    writer.writerows((each.file, each.function, each.line, each.samples) for each in lines)
    return text.getvalue().encode("utf-8", "replace")


_CONNECTED = re.compile(r"Connected to process (\d+)")
_MOST_WARNINGS = 20
_OF_REPLAY = {
    Replay.KERNEL: (),
    Replay.APPLICATION: (
        "The program was run again for each pass (application replay), because saving and "
        "restoring its memory would take longer. The metrics of one launch therefore come from "
        "several runs.",
    ),
}


class LogTail:
    """Follows a file that another process writes, line by line."""

    def __init__(self, path: Path, listen: Callable[[str], None]) -> None:
        self._path = path
        self._listen = listen
        self._at = 0
        self._unfinished = b""
        self._lines: list[str] = []

    def read(self) -> None:
        """Read what is new; the last line may still grow."""
        try:
            with self._path.open("rb") as file:
                file.seek(self._at)
                new = file.read()
        except OSError:
            return
        self._at += len(new)
        *lines, self._unfinished = (self._unfinished + new).split(b"\n")
        for line in lines:
            text = line.decode("utf-8", "replace").rstrip("\r")
            self._lines.append(text)
            self._listen(text)
        if new and self._unfinished:
            self._listen(self._unfinished.decode("utf-8", "replace"))

    def lines(self) -> tuple[str, ...]:
        """All lines; the file is complete by now."""
        self.read()
        unfinished = [self._unfinished.decode("utf-8", "replace")] if self._unfinished else []
        return (*self._lines, *unfinished)


@dataclass
class Session:
    """Runs of one program under one ``ncu``, into one draft of a capture directory.

    After ``program_limit`` seconds a run is ended and what was measured is kept. ``lines`` are
    samples by source line, ``variables`` the environment of ``ncu`` (``None``: this process's).
    """

    ncu: str
    application: tuple[str, ...]
    draft: CaptureDraft
    interrupts: Interrupts
    filters: LaunchFilters = field(default_factory=LaunchFilters)
    clock_control: str = DEFAULT_CLOCKS
    time_limit: float | None = None
    program_limit: float | None = None
    version: str | None = None
    machine: LocalMachine = field(default_factory=LocalMachine)
    progress: Progress = field(default_factory=Progress)
    name_file: Callable[[str], str] = keep_name
    variables: Mapping[str, str] | None = None
    runs: list[RunFacts] = field(default_factory=list)
    lines: tuple[SampledLine, ...] | None = None
    code: tuple[SampledCode, ...] = ()
    _first: Capture | None = None

    def collect(
        self,
        metrics: Sequence[Metric],
        kernels: Sequence[str] | None = None,
        why: str = "",
        *,
        samples: bool = False,
        sets: Sequence[str] = (),
        replay: Replay = Replay.KERNEL,
    ) -> Capture:
        """Run the program once and collect ``metrics``, ``sets`` and ``samples`` of some kernels.

        A run that fails raises its :class:`KernelprofError` and leaves nothing.
        """
        number = len(self.runs)
        report = self.draft.folder / numbered_name("capture", number, ".ncu-rep")
        log = self.draft.folder / "ncu.log"
        command = partial(
            profile_command,
            self.ncu,
            self.application,
            metrics,
            filters=self.filters,
            narrowed=kernels,
            clock_control=self.clock_control,
            compute_capability=self._capability,
            samples=samples,
            sets=sets,
            version=self.version,
            replay=replay,
        )
        final_path = self.draft.final_path
        shown = command(report=final_path(report.name), log=final_path(log.name))
        tail = LogTail(log, self.progress.listen)
        report.unlink(missing_ok=True)  # of a run that failed: ncu writes over none
        try:
            words, limit = command(report=str(report), log=str(log)), self.time_limit
            outcome = processes.run(
                words,
                self.interrupts,
                time_limit=limit,
                program_limit=self.program_limit,
                poll=tail.read,
                environment=self.variables,
            )
            log_lines = tail.lines()
        finally:
            log.unlink(missing_ok=True)
        ended = self._ended(outcome, log_lines, shown, report, filtered=kernels is not None)
        error = explain_failure(ended)
        if error is None and ended.cut and replay is Replay.APPLICATION:
            error = ProfilerError(
                "no launch completed all passes within the time limit that follows from --budget"
            )
        if error is not None:
            report.unlink(missing_ok=True)
            raise error
        page = self.page(report)
        name, digest = self.draft.store("raw", number, page)
        facts = RunFacts(
            command=tuple(shown),
            raw=name,
            raw_sha256=digest,
            report=report.name,
            why=why,
            metrics=tuple(
                names[0] for metric in metrics if (names := metric.ncu_names(self._capability))
            ),
            launches=0,
            passes=None,
            seconds=round(outcome.seconds, 3),
            kernels=None if kernels is None else tuple(kernels),
            program_exit_code=ended.program_code or 0,
            warnings=(*_OF_REPLAY[replay], *_warnings(ended)),
        )
        facts = self._with_lines(facts, number, report) if samples else facts
        capture, facts = self._understood(page, facts, log_lines)
        self.runs.append(facts)
        self._first = self._first or capture
        return capture

    def _ended(
        self,
        outcome: processes.ProcessResult,
        log_lines: tuple[str, ...],
        shown: Sequence[str],
        report: Path,
        *,
        filtered: bool,
    ) -> NcuOutcome:
        printed = _split_lines(outcome.printed)
        return NcuOutcome(
            code=outcome.code,
            # It refuses options before it has a log, on the channel of the program.
            log_lines=log_lines or tuple(line for line in printed if line.startswith("==")),
            printed=printed,
            command=shlex.join(shown),
            program=shlex.join(self.application),
            has_report=report.is_file(),
            has_gpu=bool(self.machine.gpus) if self.machine.driver else None,
            filtered=self.filters.any or filtered,
            cut=outcome.cut,
        )

    def manifest(
        self, *, preset: str | None = None, prepared: PreparedKernel | None = None
    ) -> Manifest:
        """What the directory is to say about the runs that were made."""
        lacking = dict.fromkeys(name for run in self.runs for name in run.unavailable)
        return Manifest(
            created=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            kernelprof=__version__,
            target=self.application if prepared is None else (prepared.target, *prepared.arguments),
            ncu=self.version,
            driver=self.machine.driver,
            cuda=self.machine.cuda,
            gpu=self._gpu(),
            clock_control=self.clock_control,
            runs=tuple(self.runs),
            preset=None if preset is None else preset_facts(known_preset(preset)),
            unavailable=tuple(lacking),
            source=None if prepared is None else prepared.source,
            timing=None if prepared is None else prepared.timing,
            correctness=None if prepared is None else prepared.correctness,
        )

    @property
    def _capability(self) -> tuple[int, int] | None:
        if self._first is not None:
            return self._first.launches[0].compute_capability
        return self.machine.compute_capability

    def _with_lines(self, facts: RunFacts, number: int, report: Path) -> RunFacts:
        try:
            sampled, code = export_lines(self.ncu, report, self.interrupts, self.name_file)
        except NoLinesError as error:
            return replace(facts, warnings=(*facts.warnings, str(error)))
        if sampled:
            self.lines = sampled
            name, digest = self.draft.store("lines", number, lines_to_csv(sampled))
            facts = replace(facts, lines=name, lines_sha256=digest)
        if code:
            self.code = code
            name, digest = self.draft.store("code", number, to_bytes(code), "json")
            facts = replace(facts, code=name, code_sha256=digest)
        return facts

    def page(self, report: Path, name: str = "raw") -> bytes:
        """A page of a report that a run wrote, as ``ncu`` prints it."""
        command = import_command(self.ncu, str(report), name)
        # Not in the user's folder, whose settings of ncu may be a stranger's.
        done = processes.run(command, self.interrupts, keep_all=True, folder=report.parent)
        if done.code != 0:
            words = " ".join(_split_lines(done.printed)[-3:])
            raise ProfilerError(
                f"ncu cannot read the report that it wrote (exit code {done.code}): {words}",
                where=self.draft.final_path(report.name),
                hint="free some disk space and try again",
            )
        return done.printed

    def _understood(
        self, page: bytes, facts: RunFacts, log_lines: tuple[str, ...]
    ) -> tuple[Capture, RunFacts]:
        log = read_log(log_lines)
        process = next(filter(None, map(_CONNECTED.search, log_lines)), None)
        program = None if process is None else log.programs.get(process[1])
        facts = replace(facts, application=program or facts.application)
        capture = capture_of_run(page, self.draft.final_path(facts.raw), facts, self.clock_control)
        absent = [name for name in facts.metrics if name not in capture.columns]
        if absent and len(absent) == len(facts.metrics):
            raise InputError(
                "ncu collected none of the requested metrics and printed no error",
                where=", ".join(absent[:5]) + (", ..." if len(absent) > 5 else ""),
                hint="'ncu --query-metrics' lists the metrics of this GPU",
            )
        facts = replace(
            facts,
            launches=len(capture),
            passes=count_passes(capture),
            application=facts.application or capture.application,
            unavailable=tuple(sorted({*capture.unavailable, *log.unavailable, *absent})),
        )
        return capture_of_run(
            page, self.draft.final_path(facts.raw), facts, self.clock_control
        ), facts

    def _gpu(self) -> GpuFacts:
        if self._first is None:
            return GpuFacts()
        device_name = next(iter(self._first.text.get(DEVICE_NAME, ())), None)
        capability = self._first.launches[0].compute_capability
        alike = (
            gpu
            for gpu in self.machine.gpus
            if gpu.compute_capability == capability and device_name in (None, gpu.name)
        )
        seen = next(alike, LocalGpu(0, "", capability))
        return GpuFacts(
            name=device_name or seen.name or None,
            compute_capability=".".join(map(str, capability)) if capability else None,
            sm_mhz=seen.sm_mhz,
            memory_mhz=seen.memory_mhz,
            max_sm_mhz=seen.max_sm_mhz,
            max_memory_mhz=seen.max_memory_mhz,
        )


def _split_lines(printed: bytes) -> tuple[str, ...]:
    return tuple(printed.decode("utf-8", "replace").splitlines())


def _warnings(ended: NcuOutcome) -> tuple[str, ...]:
    sentences = [
        sentence
        for sentence in read_log(ended.log_lines).complaints
        if "The application returned an error code" not in sentence
    ]
    if ended.cut:
        sentences.append(
            "The program was stopped before all launches were measured, at the time limit that "
            "follows from --budget."
        )
    elif ended.program_code is not None:
        sentences.append(
            f"The program ended with exit code {ended.program_code} after its kernels were "
            "profiled: check its results."
        )
    return tuple(sentences[:_MOST_WARNINGS])


def survey_request(
    request: ProfileRequest,
    machine: LocalMachine,
    progress: Progress,
    without: MissingToolError | None = None,
) -> ProfileResult:
    """Survey a program, and measure nothing of it: without ``ncu``, which is missing, or need.

    Raises the error that ``ncu`` is missing where the program cannot be surveyed either.
    """
    with Interrupts() as interrupts, progress as shown:
        if request.build:
            _build(request.build, interrupts, shown)
        try:
            _, survey = record_survey(
                request.application,
                interrupts,
                shown,
                request.time_limit,
                perfetto=request.perfetto,
            )
        except MissingToolError as error:
            raise without or error from error
    diagnosis = nothing_measured(
        survey, shlex.join(request.application), without, keep=request.keep
    )
    manifest = Manifest(
        created=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        kernelprof=__version__,
        target=request.application,
        ncu=None,
        driver=machine.driver,
        cuda=machine.cuda,
        gpu=GpuFacts(),
        clock_control=DEFAULT_CLOCKS,
        runs=(),
    )
    return _without_launches(diagnosis, manifest)


def _without_launches(diagnosis: Diagnosis, manifest: Manifest) -> ProfileResult:
    empty = Capture((), {}, origin=diagnosis.origin, warnings=diagnosis.warnings)
    return ProfileResult(empty, manifest, diagnosis=diagnosis)


_OF_A_LAUNCH: Final = ("kernel", "launch_skip", "launch_count")


def measure_request(
    request: ProfileRequest,
    preset: str | None,
    tools: LocalTools,
    progress: Progress,
    into: CaptureDraft | None,
) -> ProfileResult:
    """Build, survey and measure what is requested, and keep it, ``into`` a folder of several."""
    assert tools.ncu is not None
    if request.source is not None and request.keep is not None and into is None:
        with draft(request.keep, force=request.force):
            pass  # a place that cannot be written to is better known before a build
    with (
        Interrupts() as interrupts,
        progress as shown,
        nullcontext(PreparedKernel(shlex.join(request.application), request.application))
        if request.source is None
        else prepare_kernel(
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
        shared_environment() as variables,
    ):
        if request.build:
            _build(request.build, interrupts, shown)
        unset = [name for name in _OF_A_LAUNCH if getattr(request.filters, name) is None]
        session = Session(
            ncu=tools.ncu,
            application=prepared.command,
            draft=stage,
            interrupts=interrupts,
            filters=replace(request.filters, **{name: getattr(prepared, name) for name in unset}),
            clock_control=request.clock_control,
            time_limit=request.time_limit,
            version=ncu_version(tools.ncu),
            machine=tools.machine or environment.query_machine(),
            progress=shown,
            variables=variables,
        )
        surveyed = _survey_first(request, preset, prepared, session)
        if request.source is not None and prepared.source is not None:
            session.name_file = name_files_as(request.source, prepared.source.path)

        try:
            capture, drill_down = _collect_all(request, preset, session, surveyed)
        except KernelprofError as error:
            if surveyed is None or isinstance(error, StorageError):
                raise
            origin = str(request.source or shlex.join(request.application))
            diagnosis = nothing_measured(surveyed.survey, origin, error, keep=request.keep)
            return _without_launches(diagnosis, session.manifest())
        interrupts.check()
        manifest = session.manifest(
            preset=preset, prepared=None if request.source is None else prepared
        )
        if request.keep is not None:
            if request.source is not None and manifest.source is not None:
                stage.store_source(request.source, manifest.source.sha256)
            if surveyed is not None:
                text = survey_to_bytes(surveyed.with_coverage())
                name, digest = stage.store("survey", 0, text, "json")
                manifest = replace(manifest, survey=name, survey_sha256=digest)
            stage.commit(manifest)
    capture = with_command_line(capture, manifest)
    capture = replace(
        capture,
        origin=str(request.keep or request.source or shlex.join(request.application)),
        code=with_source(session.code, request.keep or Path(), manifest.source),
        warnings=(*capture.warnings, *describe_assumptions(manifest.source)),
    )
    judged = None if surveyed is None else surveyed.diagnosis(diagnose(capture, preset=preset))
    return ProfileResult(capture, manifest, drill_down, lines=session.lines, diagnosis=judged)


def _collect_all(
    request: ProfileRequest, preset: str | None, session: Session, surveyed: Surveyed | None
) -> tuple[Capture, DrillDown | None]:
    shown = session.progress

    def run(metrics: Sequence[Metric], kernels: Sequence[str] | None, why: str) -> Capture:
        if surveyed is not None and session.runs:
            surveyed.check_follow_up(kernels)
        shown.begin(why[:1].upper() + why[1:])
        wanted_samples = request.samples if preset is None else known_preset(preset).samples
        samples = wanted_samples and not session.runs
        if surveyed is None:
            return session.collect(metrics, kernels, why, samples=samples)
        if not session.runs and surveyed.replay is not Replay.KERNEL:
            try:
                replay = surveyed.replay
                return session.collect(metrics, kernels, why, samples=samples, replay=replay)
            except processes.TimeLimitError:
                raise
            except (InputError, ProfilerError) as error:
                shown.note(
                    f"application replay failed: {error.what}. Continuing with kernel replay"
                )
                surveyed.save_memory()
                session.program_limit = surveyed.limit
        try:
            return session.collect(metrics, kernels, why, samples=samples)
        except NoLaunchError:
            if session.runs:
                raise
            shown.note(
                "this run has none of the launches chosen from the survey: measuring the first "
                "launches of the same kernels instead"
            )
            session.filters = replace(session.filters, chosen=surveyed.without_numbers)
            return session.collect(metrics, kernels, why, samples=samples)

    if preset is None:
        drill_down = collect_by_verdicts(
            run, start="triage" if surveyed is None else surveyed.preset
        )
        return drill_down.capture, drill_down
    wanted = known_preset(preset)
    return run(wanted.metrics, None, f"preset {preset}: {wanted.title}"), None


def _build(command: Sequence[str], interrupts: Interrupts, shown: Progress) -> None:
    shown.say(f"building: {shlex.join(command)}")
    ended = processes.run(command, interrupts)
    if ended.code != 0:
        raise InputError(
            f"the build failed with exit code {ended.code}",
            where=shlex.join(command),
            hint=f"run the build by itself, and fix the errors that it reports"
            f"{last_lines(ended.printed)}",
        )


def _survey_first(
    request: ProfileRequest, preset: str | None, prepared: PreparedKernel, session: Session
) -> Surveyed | None:
    # The survey of a program, whose costly kernels alone are then measured. Launches that were
    # chosen by number or by range are measured as they were chosen, and so is the one kernel of a
    # source
    by_hand = request.filters.by_number or bool(request.filters.nvtx_include)
    chosen = prepared.launch_count is not None or by_hand
    of_a_kernel = request.source is not None and prepared.timing is not None
    if request.budget is None or chosen or of_a_kernel or not session.machine.gpus:
        if request.perfetto is not None:
            raise UsageError(
                "--perfetto writes the trace of a survey, but this run has no survey",
                where=str(request.perfetto),
                hint="leave out --perfetto, or diagnose a whole program: kernelprof diagnose "
                "--perfetto FILE -- COMMAND",
            )
        return None
    surveyed = survey_first(
        prepared.command,
        request.filters,
        request.budget,
        session.interrupts,
        session.progress,
        preset=preset,
        time_limit=request.time_limit,
        perfetto=request.perfetto,
        variables=session.variables,
    )
    if surveyed is None:
        session.program_limit = request.budget
        return None
    session.filters = replace(session.filters, chosen=surveyed.chosen)
    session.program_limit = surveyed.limit
    return surveyed
