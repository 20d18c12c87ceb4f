"""Climbs a ladder on a GPU: every rung is checked, timed beside cuBLAS and profiled, in order."""

from __future__ import annotations

import time
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from kernelprof.collect.commands import DEFAULT_CLOCKS
from kernelprof.collect.progress import Progress
from kernelprof.collect.request import local_tools
from kernelprof.collect.store import draft
from kernelprof.errors import ExitCode, KernelprofError, MissingToolError, UsageError
from kernelprof.ladder.ceiling import CeilingError, Cublas
from kernelprof.ladder.results import Climb, Climbed, Surroundings, trouble
from kernelprof.launch.processes import Interrupts
from kernelprof.launch.read_spec import load_spec
from kernelprof.launch.source import file_hash
from kernelprof.sources.capture_directory import is_capture
from kernelprof.tools import ncu_version
from kernelprof.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from kernelprof.collect.environment import Machine
    from kernelprof.ladder.bench import Bench, Display, Work
    from kernelprof.ladder.registry import Ladder, Rung
    from kernelprof.ladder.rounds import Beside


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be done with which rungs of a ladder.

    ``anew`` has the files of rungs that are climbed even where their results are known. ``size``
    stands in for the sizes of the ladder and of its files. ``captures`` is the folder for a capture
    directory a rung; those that are there already are replaced. ``command`` is what was typed,
    ``display`` gives what shows progress.
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


class Callbacks(NamedTuple):
    """Called during the climb.

    ``progress`` gets each rung that was climbed: its position, of how many, what was found, and the
    seconds that it took. ``save`` gets the results so far.
    """

    progress: Callable[[int, int, Climbed, float], None]
    warn: Callable[[str], None]
    save: Callable[[Climb], None]


def climb(plan: Plan, callbacks: Callbacks, known: Climb | None = None) -> Climb:
    """Climb the rungs of a plan; those that ``known`` already has all of are left out.

    A rung that fails is among the results with its error. An error of the machine before anything
    was measured is raised: the other rungs would meet it too.
    """
    with open_bench(plan) as (bench, machine):
        if plan.captures is not None:
            for rung in plan.rungs:
                with draft(plan.captures / rung.stem, force=True):
                    pass  # a place that cannot be written is known before an hour of measuring
        return _Climber(plan, callbacks, bench, machine).climb(known)


@contextmanager
def open_bench(plan: Plan) -> Iterator[tuple[Bench, Machine]]:
    """This machine's GPU and tools; :class:`MissingToolError` for what a plan needs beyond them."""
    here = local_tools(for_source=True)
    missing = [each for each in here.missing if each != "ncu" or plan.profile]
    if missing or here.machine is None:
        raise MissingToolError(
            f"the ladder cannot be climbed here: {here.missing_here(*missing)}",
            hint=f"on a machine with a GPU, ncu, nvcc and PyCUDA:\n{plan.command}\n"
            "'kernelprof doctor' says what a machine lacks; 'kernelprof diagnose' takes a rung's "
            "file without a GPU where a capture of it was recorded",
        )
    from kernelprof.ladder.bench import Bench

    ncu = here.ncu if plan.profile else None
    version = None if ncu is None else ncu_version(ncu)
    with Interrupts() as interrupts:
        yield Bench(interrupts, plan.display, ncu, version, plan.sizes), here.machine


def finished(found: Climbed | None, rung: Rung, plan: Plan, *, beside: bool) -> bool:
    """Whether there are results of a rung as it is now, with all that a plan asks for.

    ``beside`` is whether it can be timed in turns with cuBLAS.
    """
    if rung.file in plan.anew or found is None or found.error is not None:
        return False
    if found.source_sha256 != file_hash(rung.path):
        return False
    if plan.captures is not None and not is_capture(plan.captures / rung.stem):
        return False
    if beside and any(found.at(size) is None for size in plan.timed_sizes):
        return False
    return found.full is not None or not plan.profile


@dataclass
class _Climber:
    plan: Plan
    callbacks: Callbacks
    bench: Bench
    machine: Machine
    measured: int = 0
    cublas: Cublas | None = None
    stack: ExitStack = field(default_factory=ExitStack)
    """Ends cuBLAS's process: it must not run beside rungs that are not timed in turns with it."""

    def climb(self, known: Climb | None) -> Climb:
        """Rung by rung; the results are saved after each."""
        found = self._begun(known)
        with self.stack:
            if found.ceiling is None or self._todo(found, beside=True):
                found = self._with_ceiling(found)
            return self._rungs(found, self._todo(found, beside=self.cublas is not None))

    def _todo(self, found: Climb, *, beside: bool) -> list[Rung]:
        return [
            rung
            for rung in self.plan.rungs
            if not finished(found.rung(rung.file), rung, self.plan, beside=beside)
        ]

    def _rungs(self, found: Climb, todo: list[Rung]) -> Climb:
        if not todo:
            self.callbacks.save(found)
        for position, rung in enumerate(todo, 1):
            start = time.monotonic()
            climbed, surroundings = self._rung(rung, found.surroundings)
            others = [each for each in found.rungs if each.file != rung.file]
            rungs = tuple(sorted([*others, climbed], key=lambda each: each.file))
            found = replace(found, rungs=rungs, surroundings=surroundings)
            self.callbacks.save(found)
            seconds = time.monotonic() - start
            self.callbacks.progress(position, len(todo), climbed, seconds)
        return found

    def _begun(self, known: Climb | None) -> Climb:
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
        if known is None:
            return begun
        _check_same(known, begun)
        whole = len(self.plan.rungs) == len(self.plan.ladder.rungs)
        return replace(
            begun,
            # What made the whole, not what measured a rung of it again.
            command=begun.command if whole else known.command,
            surroundings=_filled(begun.surroundings, known.surroundings),
            ceiling=known.ceiling,
            rungs=known.rungs,
        )

    def _with_ceiling(self, found: Climb) -> Climb:
        """With cuBLAS at hand, and its facts or the reason why there are none."""
        try:
            with self.plan.display() as progress:
                progress.say("cuBLAS through CuPy")
                cublas = self.stack.enter_context(Cublas(found.product, self.bench.interrupts))
                ceiling = cublas.ceiling(self.plan.timed_sizes[-1])
        except KernelprofError as error:
            self.stack.close()
            self.callbacks.warn(f"{error.what}; {error.hint}")
            # What was known of it before is still true.
            why = trouble(error) if found.ceiling is None else None
            return replace(found, ceiling_error=why)
        self.cublas = cublas
        return replace(found, ceiling=found.ceiling or ceiling, ceiling_error=None)

    def _beside(self, work: Work) -> tuple[Beside, ...]:
        """The rung in turns with cuBLAS; nothing where that has failed, which is warned of."""
        if self.cublas is None:
            return ()
        try:
            return work.beside(self.cublas, self.plan.ladder.product, self.plan.timed_sizes)
        except CeilingError as error:
            self.stack.close()
            self.callbacks.warn(f"{error.what}; {error.hint}")
            self.cublas = None
            return ()

    def _rung(self, rung: Rung, surroundings: Surroundings) -> tuple[Climbed, Surroundings]:
        """One rung with all that was asked for, as far as it went well."""
        found = Climbed(rung.file, rung.title, rung.after, file_hash(rung.path))
        try:
            found = replace(found, defines=dict(load_spec(rung.path).compile.defines))
            with self.bench.prepared(rung, {}) as work:
                prepared = work.prepared
                found = replace(found, timing=prepared.timing, correctness=prepared.correctness)
                found = replace(found, beside=self._beside(work))
                prepared = work.prepared
                found = replace(found, timing=prepared.timing)
                if prepared.source is not None:
                    surroundings = replace(surroundings, compiler=prepared.source.compiler)
                if self.plan.profile:
                    captures = self.plan.captures
                    keep = None if captures is None else captures / rung.stem
                    full, traffic, gpu, multiprocessors = work.full(keep)
                    found = replace(found, full=full, traffic=traffic)
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
            return replace(found, error=trouble(error)), surroundings
        self.measured += 1
        return found, surroundings


def _filled(now: Surroundings, before: Surroundings) -> Surroundings:
    """What is known now, and else what was known before: a run without ``ncu`` knows less."""
    known = {name: value for name, value in asdict(now).items() if value is not None}
    return replace(before, **known)


def _check_same(known: Climb, begun: Climb) -> None:
    """Refuse to put results beside one another that are of different things."""
    for what, before, now in (
        ("ladder", known.ladder, begun.ladder),
        ("GPU", known.surroundings.gpu, begun.surroundings.gpu),
        ("size", known.sizes, begun.sizes),
    ):
        if before != now:
            raise UsageError(
                f"the results to continue are of another {what}: {before}, and not {now}",
                hint="write to other files, or leave out --continue to begin anew",
            )
