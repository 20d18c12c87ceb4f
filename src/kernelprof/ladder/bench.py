"""Where rungs are measured: prepared one at a time on this machine's GPU, and profiled.

A rung and cuBLAS are timed in alternating rounds, so that both have the same clock. What a GPU does
in a second follows its clock, which follows its temperature and its power: two kernels that are
timed minutes apart differ by more than those that are worth telling apart. The order within a round
alternates as well; the ratio is taken round by round.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np

from kernelprof.analysis.metrics.catalogue import preset
from kernelprof.analysis.metrics.facts import Facts
from kernelprof.analysis.metrics.traffic import traffic_at
from kernelprof.analysis.verdict import diagnose
from kernelprof.collect import environment
from kernelprof.collect.commands import DEFAULT_CLOCKS, LaunchFilters
from kernelprof.collect.drill import count_passes
from kernelprof.collect.progress import Progress
from kernelprof.collect.recorded import make_portable, strip_folders
from kernelprof.collect.run import Session, name_files_as
from kernelprof.collect.store import draft
from kernelprof.ladder.product import count_flops, count_least_bytes
from kernelprof.ladder.results import InterleavedTiming, ProfileSummary, ShortVerdict, TimedRound
from kernelprof.launch.run.prepare import make_timer, prepare_kernel
from kernelprof.launch.specification.overrides import LaunchOverrides

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from kernelprof.analysis.metrics.traffic import Traffic
    from kernelprof.collect.store import CaptureDraft
    from kernelprof.ladder.ceiling import Cublas
    from kernelprof.ladder.product import Product
    from kernelprof.ladder.registry import Rung
    from kernelprof.launch.processes import Interrupts
    from kernelprof.launch.run.prepare import PreparedKernel
    from kernelprof.launch.specification.tables import Define
    from kernelprof.model.capture import Capture
    from kernelprof.model.diagnosis import Diagnosis
    from kernelprof.model.manifest import GpuFacts

PRESET: Final = "full"
_MULTIPROCESSORS: Final = "device__attribute_multiprocessor_count"


ROUNDS: Final = 9
"""An odd number, so that the median round is one that was measured."""
FEWEST_ROUNDS: Final = 3
LAUNCHES: Final = 20
_ROW_NS: Final = 100e6
"""How long the launches of one side in one round should take, so that the clock does not drift far
inside of it."""
_ALL_NS: Final = 5e9
"""How long all rounds should take: a kernel of a second gets fewer of them."""

Times = Callable[[int], Sequence[float]]
"""Times of so many launches, in nanoseconds; an untimed launch comes before them."""

Display = Callable[[], Progress]
"""Gives what shows the progress of a rung."""


@dataclass(frozen=True, slots=True)
class Bench:
    """What prepares rungs and profiles them; ``ncu`` is ``None`` where nothing is profiled."""

    interrupts: Interrupts
    display: Display
    ncu: str | None = None
    version: str | None = None
    sizes: Mapping[str, int] = field(default_factory=dict)

    @contextmanager
    def prepared(self, rung: Rung, defines: Mapping[str, Define]) -> Iterator[PreparedRung]:
        """The rung built with these defines over its own, checked and timed."""
        overrides = LaunchOverrides(sizes=self.sizes, defines=defines)
        with (
            self.display() as progress,
            prepare_kernel(rung.shown, overrides, self.interrupts, progress.say) as prepared,
        ):
            yield PreparedRung(self, rung, prepared, progress)
        self.interrupts.check()


@dataclass(slots=True)
class PreparedRung:
    """A prepared rung, to be timed and profiled as often as it takes."""

    bench: Bench
    rung: Rung
    prepared: PreparedKernel
    progress: Progress

    def time_with_cublas(
        self, cublas: Cublas, product: Product, sizes: Sequence[int]
    ) -> tuple[InterleavedTiming, ...]:
        """Time the rung and cuBLAS in alternating rounds at each size."""
        timings: list[InterleavedTiming] = []
        with make_timer(self.prepared, self.bench.interrupts) as times:
            for size in sizes:
                self.progress.say(
                    f"timing {self.prepared.target} and cuBLAS in alternating rounds, N = {size}"
                )
                rung = partial(times, dict.fromkeys("MNK", size))
                timings.append(time_interleaved(rung, partial(cublas.times, size), size, product))
        self.prepared = replace(self.prepared, timing=timings[-1].timing)
        return tuple(timings)

    def full(self, keep: Path | None) -> tuple[ProfileSummary, Traffic, GpuFacts, int | None]:
        """Collect the preset ``full`` in one run, with the GPU and its number of SMs."""
        wanted, start = preset(PRESET), time.monotonic()
        with draft(keep, force=True) as stage:
            why = f"preset {PRESET}: {wanted.title}"
            session = self.session(stage, why)
            session.name_file = name_files_as(self.rung.path, self.rung.target, strip_folders)
            capture = session.collect(wanted.metrics, None, why, samples=wanted.samples)
            diagnosis = diagnose(capture, preset=PRESET)
            summary = summarize_run(diagnosis, capture, start)
            manifest = session.manifest(preset=PRESET, prepared=self.prepared)
            if keep is not None:
                for run in session.runs:
                    (stage.folder / str(run.report)).unlink(missing_ok=True)
                session.interrupts.check()
                stage.commit(make_portable(manifest, self.rung.path, self.rung.target))
        row = diagnosis.kernels[0].rows[0]
        column = capture.columns.get(_MULTIPROCESSORS)
        count = np.nan if column is None else column.values[row]
        multiprocessors = None if np.isnan(count) else int(count)
        return summary, traffic_at(Facts(capture), row), manifest.gpu, multiprocessors

    def session(self, stage: CaptureDraft, why: str) -> Session:
        """Runs of the prepared kernel under ``ncu``; ``why`` is shown while they run."""
        assert self.bench.ncu is not None
        prepared = self.prepared
        self.progress.begin(f"{prepared.target}: {why}")
        return Session(
            ncu=self.bench.ncu,
            application=prepared.command,
            draft=stage,
            interrupts=self.bench.interrupts,
            filters=LaunchFilters(prepared.kernel, prepared.launch_skip, prepared.launch_count),
            clock_control=DEFAULT_CLOCKS,
            version=self.bench.version,
            machine=environment.query_machine(),
            progress=self.progress,
        )


def summarize_run(diagnosis: Diagnosis, capture: Capture, start: float) -> ProfileSummary:
    """One run with its verdict; ``start`` is when it began, by the monotonic clock."""
    return ProfileSummary(
        said=short_verdict(diagnosis),
        runs=1,
        passes=count_passes(capture),
        seconds=round(time.monotonic() - start, 1),
    )


def short_verdict(diagnosis: Diagnosis) -> ShortVerdict:
    """The verdict on the kernel that took most of the time; a rung launches one."""
    verdict = diagnosis.kernels[0].verdict
    return ShortVerdict(
        status=verdict.status.value,
        bottleneck=verdict.bottleneck,
        confidence=verdict.confidence.value,
        gain=verdict.gain,
        also=tuple(each.bottleneck for each in verdict.also),
    )


def time_interleaved(rung: Times, ceiling: Times, size: int, product: Product) -> InterleavedTiming:
    """Time both in rounds; how many launches a round has follows from one launch of each."""
    from kernelprof.launch.run.trial import timing_facts

    sides = (rung, ceiling)
    first = [statistics.median(each(1)) for each in sides]
    counts = [_launches(each) for each in first]
    rounds = _rounds([(count + 1) * each for count, each in zip(counts, first, strict=True)])
    rows: tuple[list[Sequence[float]], list[Sequence[float]]] = ([], [])
    for number in range(rounds):
        for side in (0, 1) if number % 2 else (1, 0):
            rows[side].append(sides[side](counts[side]))
    timings = [
        timing_facts(
            [time for row in each for time in row],
            warm_up=rounds + 2,  # one before each row, and the two that told how many a row has
            flops=count_flops(size),
            min_bytes=count_least_bytes(product, size),
        )
        for each in rows
    ]
    medians = zip(*(map(statistics.median, each) for each in rows), strict=True)
    # The rounds say of cuBLAS what its single launches would.
    ceiling_timing = replace(timings[1], times_ns=())
    return InterleavedTiming(
        size, timings[0], ceiling_timing, tuple(TimedRound(*each) for each in medians)
    )


def _launches(one_ns: float) -> int:
    return max(1, min(LAUNCHES, int(_ROW_NS / one_ns)))


def _rounds(rows_ns: Sequence[float]) -> int:
    possible = int(_ALL_NS / sum(rows_ns))
    return max(FEWEST_ROUNDS, min(ROUNDS, possible - 1 + possible % 2))
