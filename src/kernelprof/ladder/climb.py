"""Climbs the ladder on a GPU: every rung is checked, timed and profiled, one after the other."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

import kernelprof
from kernelprof.collect.request import DEFAULT_CLOCKS
from kernelprof.collect.source import Wishes, preparer
from kernelprof.errors import ExitCode, KernelprofError, MissingToolError, UsageError
from kernelprof.ladder.ceiling import measured_ceiling
from kernelprof.ladder.results import Climb, Climbed, Surroundings, Variant, trouble
from kernelprof.report.numbers import quantity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from kernelprof.collect.environment import Machine
    from kernelprof.collect.interrupts import Interrupts
    from kernelprof.collect.progress import Progress
    from kernelprof.collect.source import Prepared, Preparer
    from kernelprof.ladder.registry import Define, Rung


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be done with which rungs.

    ``anew`` climbs rungs again whose results are known. ``size`` stands in for the sizes of the
    files. ``captures`` is the folder for a capture directory a rung; those that are there already
    are replaced. ``command`` is what was typed.
    """

    rungs: tuple[Rung, ...]
    command: str
    anew: bool = False
    size: int | None = None
    captures: Path | None = None
    profile: bool = True
    full_set: bool = False
    sweep: bool = False

    @property
    def sizes(self) -> dict[str, int]:
        """The sizes that are asked for; empty for those of the files."""
        return {} if self.size is None else dict.fromkeys("MNK", self.size)


@dataclass(frozen=True, slots=True)
class Watch:
    """Who hears of the climb: a line a rung, a warning, and the results so far."""

    say: Callable[[str], None]
    warn: Callable[[str], None]
    save: Callable[[Climb], None]


def climb(plan: Plan, watch: Watch, known: Climb | None = None) -> Climb:
    """Climb the rungs of a plan; those that ``known`` already has all of are left out.

    A rung that fails is among the results with its error. An error of the machine before anything
    was measured is raised: the other rungs would meet it too.
    """
    from kernelprof.collect.elsewhere import look
    from kernelprof.collect.interrupts import Interrupts

    here, prepare = look(for_source=True), preparer()
    lacks = [each for each in here.lacks if each != "ncu" or plan.profile]
    if lacks or prepare is None or here.machine is None:
        raise _not_here(lacks, plan)
    if plan.captures is not None:
        _check_places(plan.rungs, plan.captures)
    with Interrupts() as interrupts:
        climber = _Climber(plan, watch, prepare, interrupts, here.ncu, here.machine)
        return climber.climb(known)


def finished(found: Climbed | None, rung: Rung, plan: Plan) -> bool:
    """Whether there are results of a rung as it is now, with all that a plan asks for."""
    from kernelprof.launch.hashes import file_hash
    from kernelprof.sources.capture_directory import is_capture

    if plan.anew or found is None or found.troubles():
        return False
    if found.source_sha256 != file_hash(rung.path):
        return False
    if plan.captures is not None and not is_capture(plan.captures / rung.stem):
        return False
    swept = None if found.sweep is None else [variant.defines for variant in found.sweep]
    return (
        (found.full is not None or not plan.profile)
        and (found.full_set is not None or not plan.full_set)
        and (swept == [dict(variant) for variant in rung.variants] or not plan.sweep)
    )


@dataclass
class _Climber:
    plan: Plan
    watch: Watch
    prepare: Preparer
    interrupts: Interrupts
    ncu: str | None
    machine: Machine
    measured: int = 0

    def climb(self, known: Climb | None) -> Climb:
        """Rung by rung; the results are saved after each."""
        found = self._begun(known)
        if found.ceiling is None:
            found = self._with_ceiling(found)
        plan = self.plan
        todo = [rung for rung in plan.rungs if not finished(found.rung(rung.file), rung, plan)]
        if not todo:
            self.watch.save(found)
        for position, rung in enumerate(todo, 1):
            start = time.monotonic()
            climbed, surroundings = self._rung(rung, found.surroundings)
            others = [each for each in found.rungs if each.file != rung.file]
            rungs = tuple(sorted([*others, climbed], key=lambda each: each.file))
            found = replace(found, rungs=rungs, surroundings=surroundings)
            self.watch.save(found)
            seconds = time.monotonic() - start
            self.watch.say(f"{position} of {len(todo)}: {_told(climbed)} ({seconds:.0f} s)")
        return found

    def _begun(self, known: Climb | None) -> Climb:
        gpu = self.machine.gpus[0]
        capability = gpu.compute_capability
        begun = Climb(
            kernelprof=kernelprof.__version__,
            created=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            command=self.plan.command,
            sizes=self.plan.sizes or _sizes_of(self.plan.rungs[0]),
            surroundings=Surroundings(
                gpu=gpu.name,
                compute_capability=None if capability is None else ".".join(map(str, capability)),
                max_sm_mhz=gpu.max_sm_mhz,
                driver=self.machine.driver,
                cuda=self.machine.cuda,
                ncu=self._ncu_version(),
                clock_control=DEFAULT_CLOCKS if self.plan.profile else None,
            ),
        )
        if known is None:
            return begun
        _check_same(known, begun)
        from kernelprof.ladder.registry import ladder

        return replace(
            begun,
            # What made the whole, not what measured a rung of it again.
            command=begun.command if len(self.plan.rungs) == len(ladder()) else known.command,
            surroundings=_filled(begun.surroundings, known.surroundings),
            ceiling=known.ceiling,
            rungs=known.rungs,
        )

    def _ncu_version(self) -> str | None:
        from kernelprof.collect.tool import ncu_version

        return ncu_version(self.ncu) if self.plan.profile and self.ncu is not None else None

    def _with_ceiling(self, found: Climb) -> Climb:
        """With cuBLAS measured, or the reason why not; its product is of square matrices."""
        size = found.sizes.get("N")
        if size is None or set(found.sizes.values()) != {size}:
            return found
        try:
            with _shown_progress() as progress:
                progress.say("cuBLAS through CuPy")
                return replace(found, ceiling=measured_ceiling(size, self.interrupts))
        except KernelprofError as error:
            self.watch.warn(f"{error.what}; {error.hint}")
            return replace(found, ceiling_error=trouble(error))

    def _rung(self, rung: Rung, surroundings: Surroundings) -> tuple[Climbed, Surroundings]:
        """One rung with all that was asked for, as far as it went well."""
        from kernelprof.launch.hashes import file_hash

        found = Climbed(rung.file, rung.title, rung.after, file_hash(rung.path))
        try:
            found = replace(found, defines=_defines_of(rung))
            with self._prepared(rung, {}) as (prepared, progress):
                found = replace(found, timing=prepared.timing, correctness=prepared.correctness)
                if prepared.source is not None:
                    surroundings = replace(surroundings, compiler=prepared.source.compiler)
                if self.plan.profile:
                    found, surroundings = self._profiled(
                        rung, prepared, progress, found, surroundings
                    )
        except KernelprofError as error:
            if not self.measured and error.exit_code == ExitCode.ENVIRONMENT:
                raise
            return replace(found, error=trouble(error)), surroundings
        self.measured += 1
        if self.plan.sweep:
            found = replace(found, sweep=tuple(self._variant(rung, each) for each in rung.variants))
        return found, surroundings

    def _profiled(
        self,
        rung: Rung,
        prepared: Prepared,
        progress: Progress,
        found: Climbed,
        surroundings: Surroundings,
    ) -> tuple[Climbed, Surroundings]:
        """The drill-down, the capture that is kept, and NVIDIA's full set to compare with."""
        from kernelprof.collect import environment
        from kernelprof.ladder.profiling import Profiler

        assert self.ncu is not None
        profiler = Profiler(
            ncu=self.ncu,
            version=surroundings.ncu,
            prepared=prepared,
            interrupts=self.interrupts,
            progress=progress,
            machine=environment.machine(),
        )
        found = replace(found, drilldown=profiler.drill_down())
        keep = None if self.plan.captures is None else self.plan.captures / rung.stem
        full, traffic, chip = profiler.full(rung, keep)
        found = replace(found, full=full, traffic=traffic)
        if self.plan.full_set:
            found = replace(found, full_set=profiler.full_set())
        return found, replace(
            surroundings,
            gpu=chip.gpu.name or surroundings.gpu,
            compute_capability=chip.gpu.compute_capability or surroundings.compute_capability,
            max_sm_mhz=chip.gpu.max_sm_mhz or surroundings.max_sm_mhz,
            multiprocessors=chip.multiprocessors,
        )

    def _variant(self, rung: Rung, defines: Mapping[str, Define]) -> Variant:
        """The rung with other defines, checked and timed."""
        try:
            with self._prepared(rung, defines) as (prepared, _):
                return Variant(dict(defines), prepared.timing)
        except KernelprofError as error:
            return Variant(dict(defines), error=trouble(error))

    @contextmanager
    def _prepared(
        self, rung: Rung, defines: Mapping[str, Define]
    ) -> Iterator[tuple[Prepared, Progress]]:
        wishes = Wishes(sizes=self.plan.sizes, defines=defines)
        with (
            _shown_progress() as progress,
            self.prepare(rung.shown, wishes, self.interrupts, progress.say) as prepared,
        ):
            yield prepared, progress
        self.interrupts.check()


def _shown_progress() -> Progress:
    from kernelprof.collect.progress import Progress

    return Progress()


def _told(rung: Climbed) -> str:
    """A rung in a line: ``01_naive.cu: 275 ms, uncoalesced-global-access``."""
    parts = [] if rung.timing is None else [quantity(rung.timing.median_ns, "ns")]
    if rung.full is not None:
        parts.append(rung.full.said.bottleneck or rung.full.said.status)
    if rung.sweep:
        parts.append(f"{len(rung.sweep)} variants")
    failed = rung.troubles()
    if failed:
        parts.append(f"failed: {failed[0].what}")
    return f"{rung.file}: {', '.join(parts)}"


def _sizes_of(rung: Rung) -> dict[str, int]:
    from kernelprof.launch.read_spec import load_spec

    return dict(load_spec(rung.path).sizes)


def _defines_of(rung: Rung) -> dict[str, Define]:
    from kernelprof.launch.read_spec import load_spec

    return dict(load_spec(rung.path).compile.defines)


def _filled(now: Surroundings, before: Surroundings) -> Surroundings:
    """What is known now, and else what was known before: a run without ``ncu`` knows less."""
    known = {name: value for name, value in asdict(now).items() if value is not None}
    return replace(before, **known)


def _check_same(known: Climb, begun: Climb) -> None:
    """Refuse to put results beside one another that are of different things."""
    for what, before, now in (
        ("GPU", known.surroundings.gpu, begun.surroundings.gpu),
        ("size", known.sizes, begun.sizes),
    ):
        if before != now:
            raise UsageError(
                f"the results to continue are of another {what}: {before}, and not {now}",
                hint="write to other files, or leave out --continue to begin anew",
            )


def _check_places(rungs: Sequence[Rung], captures: Path) -> None:
    """Refuse to write where something else stands, before an hour of measuring."""
    from kernelprof.collect.store import draft

    for rung in rungs:
        with draft(captures / rung.stem, force=True):
            pass


def _not_here(lacks: Sequence[str], plan: Plan) -> MissingToolError:
    if not lacks:
        return MissingToolError(
            "this installation of kernelprof cannot build kernels",
            hint="install kernelprof again",
        )
    shown = {
        "GPU": "no NVIDIA GPU (none answers nvidia-smi)",
        "ncu": "no ncu (Nsight Compute)",
    }
    return MissingToolError(
        f"the ladder cannot be climbed here: this machine has "
        f"{' and '.join(shown[each] for each in lacks)}",
        hint=f"on a machine with a GPU, ncu, nvcc and PyCUDA:\n{plan.command}\n"
        "'kernelprof doctor' says what a machine lacks; 'kernelprof diagnose' takes a rung's file "
        "without a GPU where a capture of it was recorded",
    )
