"""Runs a program under ``ncu`` and gives what was measured, as often as it is asked."""

from __future__ import annotations

import re
import shlex
import time
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from kernelprof.analysis.survey.effort import Replay
from kernelprof.collect import lines as source_lines
from kernelprof.collect.commands import (
    DEFAULT_CLOCKS,
    Filters,
    import_command,
    profile_command,
)
from kernelprof.collect.drill import passes_of
from kernelprof.collect.environment import Gpu, Machine
from kernelprof.collect.failures import Ended, ProfilerError, failure
from kernelprof.collect.progress import LogTail, Progress
from kernelprof.collect.request import preset_facts
from kernelprof.collect.store import numbered
from kernelprof.errors import InputError
from kernelprof.launch import processes
from kernelprof.model.capture import DEVICE_NAME
from kernelprof.model.manifest import GpuFacts, Manifest, RunFacts
from kernelprof.model.sampled import to_bytes
from kernelprof.sources import read_log
from kernelprof.sources.capture_directory import capture_of_run
from kernelprof.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from kernelprof.analysis.metrics.catalogue import Metric
    from kernelprof.collect.store import Draft
    from kernelprof.launch.prepare import PreparedKernel
    from kernelprof.launch.processes import Interrupts
    from kernelprof.model.capture import Capture, SourceLine
    from kernelprof.model.sampled import SampledCode

_CONNECTED = re.compile(r"Connected to process (\d+)")
_MOST_WARNINGS = 20
_OF_REPLAY = {
    Replay.KERNEL: (),
    Replay.APPLICATION: (
        "The program was run again for each pass (application replay), because saving its memory "
        "takes longer: the metrics of a launch are of different runs of the program.",
    ),
}


@dataclass
class Session:
    """Runs of one program under one ``ncu``, into one draft of a capture directory.

    ``time_limit`` is for each run, in seconds, and so is ``program_limit``, after which the program
    is ended and what was measured by then is kept. ``name_file`` gives a source file the name that
    it is to have in the samples by source line; ``lines`` are those samples, ``None`` as long as no
    run got any.
    """

    ncu: str
    application: tuple[str, ...]
    draft: Draft
    interrupts: Interrupts
    filters: Filters = field(default_factory=Filters)
    clock_control: str = DEFAULT_CLOCKS
    time_limit: float | None = None
    program_limit: float | None = None
    version: str | None = None
    machine: Machine = field(default_factory=Machine)
    progress: Progress = field(default_factory=Progress)
    name_file: Callable[[str], str] = source_lines.same_name
    runs: list[RunFacts] = field(default_factory=list)
    lines: tuple[SourceLine, ...] | None = None
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
        """Run the program once and collect ``metrics``, of all kernels or of these alone.

        ``samples`` asks for those by source line as well, and ``sets`` for what sections of
        ``ncu``'s own hold, with their rules; ``replay`` is what is repeated for each pass. Raises
        the :class:`KernelprofError` that the failure is; of a run that fails nothing stays.
        """
        number = len(self.runs)
        report = self.draft.folder / numbered("capture", number, ".ncu-rep")
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
        place = self.draft.place
        shown = command(report=place(report.name), log=place(log.name))
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
            )
            said = tail.lines()
        finally:
            log.unlink(missing_ok=True)
        ended = self._ended(outcome, said, shown, report, filtered=kernels is not None)
        error = failure(ended)
        if error is None and ended.cut and replay is Replay.APPLICATION:
            error = ProfilerError("it took too long, and no launch had all of its passes")
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
        capture, facts = self._understood(page, facts, said)
        self.runs.append(facts)
        self._first = self._first or capture
        return capture

    def _ended(
        self,
        outcome: processes.Outcome,
        said: tuple[str, ...],
        shown: Sequence[str],
        report: Path,
        *,
        filtered: bool,
    ) -> Ended:
        printed = _lines(outcome.printed)
        return Ended(
            code=outcome.code,
            # It refuses options before it has a log, on the channel of the program.
            said=said or tuple(line for line in printed if line.startswith("==")),
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
        from kernelprof.analysis.metrics.catalogue import preset as known_preset

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
        """The facts with the samples by source line; with a warning where that fails."""
        try:
            found, code = source_lines.export(self.ncu, report, self.interrupts, self.name_file)
        except source_lines.NoLinesError as error:
            return replace(facts, warnings=(*facts.warnings, str(error)))
        if found:
            self.lines = found
            name, digest = self.draft.store("lines", number, source_lines.to_csv(found))
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
            words = " ".join(_lines(done.printed)[-3:])
            raise ProfilerError(
                f"ncu cannot read the report that it wrote (exit code {done.code}): {words}",
                where=self.draft.place(report.name),
                hint="see whether the disk is full (free some space), and try it again",
            )
        return done.printed

    def _understood(
        self, page: bytes, facts: RunFacts, said: tuple[str, ...]
    ) -> tuple[Capture, RunFacts]:
        """The capture, and the facts that only it knows; metrics without a trace are named."""
        log = read_log(said)
        process = next(filter(None, map(_CONNECTED.search, said)), None)
        program = None if process is None else log.programs.get(process[1])
        facts = replace(facts, application=program or facts.application)
        found = capture_of_run(page, self.draft.place(facts.raw), facts, self.clock_control)
        absent = [name for name in facts.metrics if name not in found.columns]
        if absent and len(absent) == len(facts.metrics):
            raise InputError(
                "ncu knows none of the metrics that were asked for, and says nothing about it",
                where=", ".join(absent[:5]) + (", ..." if len(absent) > 5 else ""),
                hint="'ncu --query-metrics' lists what this GPU has",
            )
        facts = replace(
            facts,
            launches=len(found),
            passes=passes_of(found),
            application=facts.application or found.application,
            unavailable=tuple(sorted({*found.unavailable, *log.unavailable, *absent})),
        )
        return capture_of_run(page, self.draft.place(facts.raw), facts, self.clock_control), facts

    def _gpu(self) -> GpuFacts:
        """The GPU of the first launch: as nvidia-smi knows it, else as the capture names it."""
        if self._first is None:
            return GpuFacts()
        named = next(iter(self._first.text.get(DEVICE_NAME, ())), None)
        capability = self._first.launches[0].compute_capability
        alike = (
            gpu
            for gpu in self.machine.gpus
            if gpu.compute_capability == capability and named in (None, gpu.name)
        )
        seen = next(alike, Gpu(0, "", capability))
        return GpuFacts(
            name=named or seen.name or None,
            compute_capability=".".join(map(str, capability)) if capability else None,
            sm_mhz=seen.sm_mhz,
            memory_mhz=seen.memory_mhz,
            max_sm_mhz=seen.max_sm_mhz,
            max_memory_mhz=seen.max_memory_mhz,
        )


def _lines(printed: bytes) -> tuple[str, ...]:
    return tuple(printed.decode("utf-8", "replace").splitlines())


def _warnings(ended: Ended) -> tuple[str, ...]:
    """What somebody who reads the capture has to know."""
    found = [
        sentence
        for sentence in read_log(ended.said).complaints
        if "The application returned an error code" not in sentence
    ]
    if ended.cut:
        found.append(
            "The program was ended before all launches were measured that should be: it took too "
            "long."
        )
    elif ended.program_code is not None:
        found.append(
            f"The program ended with exit code {ended.program_code} after its kernels were "
            "profiled: see whether they did what they should."
        )
    return tuple(found[:_MOST_WARNINGS])
