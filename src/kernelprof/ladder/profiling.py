"""The three ways to profile one prepared rung: what verdicts need, one preset, and everything."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kernelprof.analysis.metrics.catalogue import preset
from kernelprof.analysis.verdict import diagnose
from kernelprof.collect.drill import drill
from kernelprof.collect.portable import file_names, portable
from kernelprof.collect.request import DEFAULT_CLOCKS, Filters
from kernelprof.collect.run import PASSES, Session
from kernelprof.collect.store import draft
from kernelprof.ladder.full_set import collect_full_set
from kernelprof.ladder.results import Said, Way
from kernelprof.ladder.traffic import traffic_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from kernelprof.analysis.metrics.traffic import Traffic
    from kernelprof.collect.environment import Machine
    from kernelprof.collect.interrupts import Interrupts
    from kernelprof.collect.progress import Progress
    from kernelprof.collect.source import Prepared
    from kernelprof.collect.store import Draft
    from kernelprof.ladder.registry import Rung
    from kernelprof.model.capture import Capture
    from kernelprof.model.diagnosis import Diagnosis
    from kernelprof.model.manifest import GpuFacts

PRESET = "full"
_MULTIPROCESSORS = "device__attribute_multiprocessor_count"


@dataclass(frozen=True, slots=True)
class Chip:
    """The GPU as a capture shows it."""

    gpu: GpuFacts
    multiprocessors: int | None


@dataclass(frozen=True, slots=True)
class Profiler:
    """Runs one prepared kernel under ``ncu``, built once for all the ways."""

    ncu: str
    version: str | None
    prepared: Prepared
    interrupts: Interrupts
    progress: Progress
    machine: Machine

    def drill_down(self) -> Way:
        """From the preset ``triage`` to a verdict that stands; nothing of it is kept."""
        with draft(None) as stage:
            session = self._session(stage)
            found = drill(session.collect, watch=lambda coming: self._begin(coming.why))
        seconds = sum(each.seconds for each in found.rounds)
        return Way(said(found.diagnosis), len(found.rounds), found.passes, round(seconds, 1))

    def full(self, rung: Rung, keep: Path | None) -> tuple[Way, Traffic, Chip]:
        """The preset ``full`` in one run; its capture directory is written, without a report."""
        wanted = preset(PRESET)
        why = f"preset {PRESET}: {wanted.title}"
        self._begin(why)
        with draft(keep, force=True) as stage, _clock() as seconds:
            session = self._session(stage)
            session.name_file = file_names(rung.path, rung.target)
            capture = session.collect(wanted.metrics, None, why, samples=wanted.samples)
            diagnosis = diagnose(capture, preset=PRESET)
            cost = seconds()
            manifest = session.manifest(preset=PRESET, prepared=self.prepared)
            if keep is not None:
                for run in session.runs:
                    (stage.folder / str(run.report)).unlink(missing_ok=True)
                session.interrupts.check()
                stage.commit(portable(manifest, rung.path, rung.target))
        row = diagnosis.kernels[0].rows[0]
        return (
            Way(said(diagnosis), 1, _passes(capture), cost),
            traffic_of(capture, row),
            Chip(manifest.gpu, _whole(capture, _MULTIPROCESSORS, row)),
        )

    def full_set(self) -> Way:
        """``ncu --set full``, judged by the same rules; nothing of it is kept."""
        self._begin("ncu --set full")
        with draft(None) as stage, _clock() as seconds:
            capture = collect_full_set(self._session(stage))
            return Way(said(diagnose(capture)), 1, _passes(capture), seconds())

    def _begin(self, why: str) -> None:
        self.progress.begin(f"{self.prepared.target}: {why}")

    def _session(self, stage: Draft) -> Session:
        prepared = self.prepared
        return Session(
            ncu=self.ncu,
            application=prepared.command,
            draft=stage,
            interrupts=self.interrupts,
            filters=Filters(prepared.kernel, prepared.launch_skip, prepared.launch_count),
            clock_control=DEFAULT_CLOCKS,
            version=self.version,
            machine=self.machine,
            listen=self.progress.listen,
        )


@contextmanager
def _clock() -> Iterator[Callable[[], float]]:
    """Seconds since the beginning, to a tenth."""
    start = time.monotonic()
    yield lambda: round(time.monotonic() - start, 1)


def said(diagnosis: Diagnosis) -> Said:
    """The verdict on the kernel that took most of the time; a rung launches one."""
    verdict = diagnosis.kernels[0].verdict
    return Said(
        status=verdict.status.value,
        bottleneck=verdict.bottleneck,
        confidence=verdict.confidence.value,
        gain=verdict.gain,
        also=tuple(each.bottleneck for each in verdict.also),
    )


def _passes(capture: Capture) -> int | None:
    column = capture.columns.get(PASSES)
    return None if column is None else int(np.nansum(column.values))


def _whole(capture: Capture, name: str, row: int) -> int | None:
    column = capture.columns.get(name)
    return None if column is None or np.isnan(column.values[row]) else int(column.values[row])
