"""Where rungs are measured: prepared one at a time on this machine's GPU, and profiled."""

from __future__ import annotations

import time
from collections.abc import Callable
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
from kernelprof.collect.commands import DEFAULT_CLOCKS, Filters
from kernelprof.collect.drill import passes_of
from kernelprof.collect.lines import names_for
from kernelprof.collect.progress import Progress
from kernelprof.collect.recorded import name_only, portable
from kernelprof.collect.run import Session
from kernelprof.collect.store import draft
from kernelprof.ladder.results import ShortVerdict, Way
from kernelprof.ladder.rounds import in_turns
from kernelprof.launch.overrides import LaunchOverrides
from kernelprof.launch.prepare import prepare
from kernelprof.launch.timer import timer

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from kernelprof.analysis.metrics.traffic import Traffic
    from kernelprof.collect.store import Draft
    from kernelprof.ladder.ceiling import Cublas
    from kernelprof.ladder.product import Product
    from kernelprof.ladder.registry import Rung
    from kernelprof.ladder.rounds import Beside
    from kernelprof.launch.prepare import PreparedKernel
    from kernelprof.launch.processes import Interrupts
    from kernelprof.launch.tables import Define
    from kernelprof.model.capture import Capture
    from kernelprof.model.diagnosis import Diagnosis
    from kernelprof.model.manifest import GpuFacts

PRESET: Final = "full"
_MULTIPROCESSORS: Final = "device__attribute_multiprocessor_count"


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
    def prepared(self, rung: Rung, defines: Mapping[str, Define]) -> Iterator[Work]:
        """The rung built with these defines over its own, checked and timed."""
        overrides = LaunchOverrides(sizes=self.sizes, defines=defines)
        with (
            self.display() as progress,
            prepare(rung.shown, overrides, self.interrupts, progress.say) as prepared,
        ):
            yield Work(self, rung, prepared, progress)
        self.interrupts.check()


@dataclass(slots=True)
class Work:
    """A prepared rung, to be timed and profiled as often as it takes."""

    bench: Bench
    rung: Rung
    prepared: PreparedKernel
    progress: Progress

    def beside(self, cublas: Cublas, product: Product, sizes: Sequence[int]) -> tuple[Beside, ...]:
        """Timed in turns with cuBLAS at each size, the last of which is that of the profile.

        Its times there take the place of those of the kernel alone, in its capture too.
        """
        found: list[Beside] = []
        with timer(self.prepared, self.bench.interrupts) as times:
            for size in sizes:
                self.progress.say(f"{self.prepared.target}: in turns with cuBLAS, N = {size}")
                rung = partial(times, dict.fromkeys("MNK", size))
                found.append(in_turns(rung, partial(cublas.times, size), size, product))
        self.prepared = replace(self.prepared, timing=found[-1].timing)
        return tuple(found)

    def full(self, keep: Path | None) -> tuple[Way, Traffic, GpuFacts, int | None]:
        """The preset ``full`` in one run, with the GPU and its multiprocessors.

        Its capture directory is written, without a report.
        """
        wanted, start = preset(PRESET), time.monotonic()
        with draft(keep, force=True) as stage:
            why = f"preset {PRESET}: {wanted.title}"
            session = self.session(stage, why)
            session.name_file = names_for(self.rung.path, self.rung.target, name_only)
            capture = session.collect(wanted.metrics, None, why, samples=wanted.samples)
            diagnosis = diagnose(capture, preset=PRESET)
            way = finished(diagnosis, capture, start)
            manifest = session.manifest(preset=PRESET, prepared=self.prepared)
            if keep is not None:
                for run in session.runs:
                    (stage.folder / str(run.report)).unlink(missing_ok=True)
                session.interrupts.check()
                stage.commit(portable(manifest, self.rung.path, self.rung.target))
        row = diagnosis.kernels[0].rows[0]
        column = capture.columns.get(_MULTIPROCESSORS)
        count = np.nan if column is None else column.values[row]
        multiprocessors = None if np.isnan(count) else int(count)
        return way, traffic_at(Facts(capture), row), manifest.gpu, multiprocessors

    def session(self, stage: Draft, why: str) -> Session:
        """Runs of the prepared kernel under ``ncu``; ``why`` is shown while they run."""
        assert self.bench.ncu is not None
        prepared = self.prepared
        self.progress.begin(f"{prepared.target}: {why}")
        return Session(
            ncu=self.bench.ncu,
            application=prepared.command,
            draft=stage,
            interrupts=self.bench.interrupts,
            filters=Filters(prepared.kernel, prepared.launch_skip, prepared.launch_count),
            clock_control=DEFAULT_CLOCKS,
            version=self.bench.version,
            machine=environment.machine(),
            progress=self.progress,
        )


def finished(diagnosis: Diagnosis, capture: Capture, start: float) -> Way:
    """One run with its verdict; ``start`` is when it began, by the monotonic clock."""
    return Way(
        said=short_verdict(diagnosis),
        runs=1,
        passes=passes_of(capture),
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
