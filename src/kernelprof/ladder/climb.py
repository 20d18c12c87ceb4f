"""Climbs a ladder on a GPU: every rung is checked, timed beside cuBLAS and profiled, in order."""

from __future__ import annotations

import time
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING

from kernelprof.collect.commands import DEFAULT_CLOCKS
from kernelprof.collect.progress import Progress
from kernelprof.collect.request import local_tools
from kernelprof.collect.store import draft
from kernelprof.errors import ErrorFacts, ExitCode, KernelprofError, MissingToolError, UsageError
from kernelprof.ladder.ceiling import CeilingError, Cublas
from kernelprof.ladder.results import Climb, Climbed, Surroundings
from kernelprof.launch.processes import Interrupts
from kernelprof.launch.source import file_hash
from kernelprof.launch.specification.reader import load_spec
from kernelprof.model.specification import sizes_text
from kernelprof.sources.capture_directory import is_capture
from kernelprof.tools import ncu_version
from kernelprof.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from kernelprof.collect.environment import LocalMachine
    from kernelprof.ladder.bench import Bench, Display, PreparedRung
    from kernelprof.ladder.registry import Ladder, Rung
    from kernelprof.ladder.results import InterleavedTiming


@dataclass(frozen=True, slots=True)
class ClimbPlan:
    """What to do with which rungs; ``anew`` are files that are climbed again.

    ``size`` replaces the sizes of the ladder, ``captures`` is a folder of capture directories.
    """

    ladder: Ladder
    rungs: tuple[Rung, ...]
    command: str
    anew: frozenset[str] = frozenset()
    size: int | None = None
    captures: Path | None = None
    profile: bool = True
    display: Display = Progress

    @property
    def sizes(self) -> dict[str, int]:
        """The sizes that are asked for; empty for those of the files."""
        return {} if self.size is None else dict.fromkeys("MNK", self.size)

    @property
    def timed_sizes(self) -> tuple[int, ...]:
        """M = N = K to be timed at; the last is that of the profile."""
        return self.ladder.sizes if self.size is None else (self.size,)


def climb_ladder(
    plan: ClimbPlan,
    *,
    progress: Callable[[int, int, Climbed, float], None],
    warn: Callable[[str], None],
    save: Callable[[Climb], None],
    earlier: Climb | None = None,
) -> Climb:
    """Climb the rungs that earlier results lack; failed ones are among the results.

    ``progress`` gets each climbed rung and its seconds, ``save`` the results so far. An error of
    the machine before anything was measured is raised.
    """
    with open_bench(plan) as (bench, info):
        if plan.captures is not None:
            for rung in plan.rungs:
                with draft(plan.captures / rung.stem, force=True):
                    pass  # a place that cannot be written is known before an hour of measuring
        return _Climber(plan, progress, warn, save, bench, info).climb(earlier)


@contextmanager
def open_bench(plan: ClimbPlan) -> Iterator[tuple[Bench, LocalMachine]]:
    """This machine's GPU and tools; :class:`MissingToolError` for what a plan needs beyond them."""
    here = local_tools(for_source=True)
    missing = [each for each in here.missing if each != "ncu" or plan.profile]
    if missing or here.machine is None:
        raise MissingToolError(
            f"the ladder cannot run here: {here.missing_here(*missing)}",
            hint=f"run this on a machine with a GPU, ncu, nvcc and PyCUDA:\n{plan.command}\n"
            "'kernelprof doctor' lists what is missing here\n'kernelprof diagnose RUNG.cu' needs "
            "no GPU if the rung has a recorded capture",
        )
    from kernelprof.ladder.bench import Bench

    ncu = here.ncu if plan.profile else None
    version = None if ncu is None else ncu_version(ncu)
    with Interrupts() as interrupts:
        yield Bench(interrupts, plan.display, ncu, version, plan.sizes), here.machine


def is_complete(climbed: Climbed | None, rung: Rung, plan: ClimbPlan, *, with_cublas: bool) -> bool:
    """Return whether a rung as it is now has all results that a plan asks for."""
    if rung.file in plan.anew or climbed is None or climbed.error is not None:
        return False
    if climbed.source_sha256 != file_hash(rung.path):
        return False
    if plan.captures is not None and not is_capture(plan.captures / rung.stem):
        return False
    if with_cublas and any(climbed.at(size) is None for size in plan.timed_sizes):
        return False
    return climbed.full is not None or not plan.profile


@dataclass
class _Climber:
    plan: ClimbPlan
    progress: Callable[[int, int, Climbed, float], None]
    warn: Callable[[str], None]
    save: Callable[[Climb], None]
    bench: Bench
    machine: LocalMachine
    measured: int = 0
    cublas: Cublas | None = None
    stack: ExitStack = field(default_factory=ExitStack)
    """Ends cuBLAS's process: it must not run beside rungs that are timed alone."""

    def climb(self, earlier: Climb | None) -> Climb:
        result = self._start_results(earlier)
        with self.stack:
            if result.ceiling is None or self._unfinished_rungs(result, with_cublas=True):
                result = self._with_ceiling(result)
            return self._climb_rungs(
                result, self._unfinished_rungs(result, with_cublas=self.cublas is not None)
            )

    def _unfinished_rungs(self, result: Climb, *, with_cublas: bool) -> list[Rung]:
        return [
            rung
            for rung in self.plan.rungs
            if not is_complete(result.rung(rung.file), rung, self.plan, with_cublas=with_cublas)
        ]

    def _climb_rungs(self, result: Climb, todo: list[Rung]) -> Climb:
        if not todo:
            self.save(result)
        for position, rung in enumerate(todo, 1):
            start = time.monotonic()
            climbed, surroundings = self._climb_rung(rung, result.surroundings)
            others = [each for each in result.rungs if each.file != rung.file]
            rungs = tuple(sorted([*others, climbed], key=lambda each: each.file))
            result = replace(result, rungs=rungs, surroundings=surroundings)
            self.save(result)
            seconds = time.monotonic() - start
            self.progress(position, len(todo), climbed, seconds)
        return result

    def _start_results(self, earlier: Climb | None) -> Climb:
        gpu = self.machine.gpus[0]
        capability = gpu.compute_capability
        begun = Climb(
            kernelprof=__version__,
            created=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            command=self.plan.command,
            sizes=self.plan.sizes or dict(load_spec(self.plan.rungs[0].path).sizes),
            surroundings=Surroundings(
                gpu=gpu.name,
                compute_capability=None if capability is None else ".".join(map(str, capability)),
                max_sm_mhz=gpu.max_sm_mhz,
                driver=self.machine.driver,
                cuda=self.machine.cuda,
                ncu=self.bench.version,
                clock_control=DEFAULT_CLOCKS if self.plan.profile else None,
            ),
            ladder=self.plan.ladder.name,
            title=self.plan.ladder.title,
            product=self.plan.ladder.product,
        )
        if earlier is None:
            return begun
        _check_same(earlier, begun)
        whole = len(self.plan.rungs) == len(self.plan.ladder.rungs)
        return replace(
            begun,
            # What made the whole, not what measured a rung of it again.
            command=begun.command if whole else earlier.command,
            surroundings=_merge_known(begun.surroundings, earlier.surroundings),
            ceiling=earlier.ceiling,
            rungs=earlier.rungs,
        )

    def _with_ceiling(self, result: Climb) -> Climb:
        try:
            with self.plan.display() as progress:
                progress.say("cuBLAS through CuPy")
                cublas = self.stack.enter_context(Cublas(result.product, self.bench.interrupts))
                ceiling = cublas.ceiling(self.plan.timed_sizes[-1])
        except KernelprofError as error:
            self.stack.close()
            self.warn(f"{error.what}; {error.hint}")
            # What was known of it before is still true.
            why = ErrorFacts.from_exception(error) if result.ceiling is None else None
            return replace(result, ceiling_error=why)
        self.cublas = cublas
        return replace(result, ceiling=result.ceiling or ceiling, ceiling_error=None)

    def _time_with_cublas(self, prepared: PreparedRung) -> tuple[InterleavedTiming, ...]:
        if self.cublas is None:
            return ()
        try:
            return prepared.time_with_cublas(
                self.cublas, self.plan.ladder.product, self.plan.timed_sizes
            )
        except CeilingError as error:
            self.stack.close()
            self.warn(f"{error.what}; {error.hint}")
            self.cublas = None
            return ()

    def _climb_rung(self, rung: Rung, surroundings: Surroundings) -> tuple[Climbed, Surroundings]:
        result = Climbed(rung.file, rung.title, rung.after, file_hash(rung.path))
        try:
            result = replace(result, defines=dict(load_spec(rung.path).compile.defines))
            with self.bench.prepared(rung, {}) as measured_rung:
                prepared = measured_rung.prepared
                result = replace(result, timing=prepared.timing, correctness=prepared.correctness)
                result = replace(result, beside=self._time_with_cublas(measured_rung))
                prepared = measured_rung.prepared
                result = replace(result, timing=prepared.timing)
                if prepared.source is not None:
                    surroundings = replace(surroundings, compiler=prepared.source.compiler)
                if self.plan.profile:
                    captures = self.plan.captures
                    keep = None if captures is None else captures / rung.stem
                    full, traffic, gpu, multiprocessors = measured_rung.full(keep)
                    result = replace(result, full=full, traffic=traffic)
                    surroundings = replace(
                        surroundings,
                        gpu=gpu.name or surroundings.gpu,
                        compute_capability=gpu.compute_capability
                        or surroundings.compute_capability,
                        max_sm_mhz=gpu.max_sm_mhz or surroundings.max_sm_mhz,
                        multiprocessors=multiprocessors,
                    )
        except KernelprofError as error:
            if not self.measured and error.exit_code == ExitCode.ENVIRONMENT:
                raise
            return replace(result, error=ErrorFacts.from_exception(error)), surroundings
        self.measured += 1
        return result, surroundings


def _merge_known(now: Surroundings, before: Surroundings) -> Surroundings:
    # What is known now, and else what was known before: a run without `ncu` knows less
    current = {name: value for name, value in asdict(now).items() if value is not None}
    return replace(before, **current)


def _check_same(earlier: Climb, begun: Climb) -> None:
    for what, before, now in (
        ("ladder", earlier.ladder, begun.ladder),
        ("GPU", earlier.surroundings.gpu, begun.surroundings.gpu),
        ("sizes", sizes_text(earlier.sizes), sizes_text(begun.sizes)),
    ):
        if before != now:
            raise UsageError(
                f"cannot continue: the results are for {what} {before}, but this run is for {now}",
                hint="write to other files, or leave out --continue to start over",
            )
